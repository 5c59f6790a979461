#pragma once

#include "command.hpp"
#include "zeroloss/conv/train.hpp"
#include "zeroloss/images/images.hpp"

namespace zeroloss::app {

void add_conv_train(Command& command, Session& session);
void add_conv_evaluate(Command& command, Session& session);
void add_conv_predict(Command& command, Session& session);

/// The options of reading images. `options` holds the defaults when this is called and must outlive the
/// parsing.
void add_image_options(const Command& command, ImageOptions& options);

/// The part in a group of processes that torchrun's variables give to this one. Throws std::invalid_argument
/// for one that is no number.
ConvProcess process_of_environment();

void add_device_options(const Command& command, ConvDevice& device);

/// The options with the device's threads for decoding: all where it names none, whatever OpenMP is told by a
/// launcher of several processes (of which one decodes at a time).
ImageOptions with_threads(ImageOptions images, const ConvDevice& device);

/// Of a .safetensors file, or of a run folder that holds model.safetensors.
ConvNetwork read_conv_network(const std::string& model);

}  // namespace zeroloss::app
