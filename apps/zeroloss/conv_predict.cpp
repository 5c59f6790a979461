#include <fmt/format.h>

#include "conv_options.hpp"
#include "zeroloss/present/conv.hpp"

namespace zeroloss::app {
namespace {

struct ConvPredictArguments {
  std::string model;
  std::vector<std::string> files;
  Index top = 3;
  ConvDevice device;
  bool json = false;
};

void run_conv_predict(const ConvPredictArguments& options, Session& session) {
  auto progress = session.progress();
  const ConvNetwork network = read_conv_network(options.model);
  ImageSet images;
  images.files = options.files;
  images.labels.assign(options.files.size(), 0);
  const Logits logits = predict(network, images, options.device, progress);
  const auto say = options.json ? guesses_json : guesses_text;
  answer(say(network, options.files, logits, options.top) + (options.json ? "\n" : ""));
}

}  // namespace

void add_conv_predict(Command& command, Session& session) {
  command.about("What a network sees in image files");
  auto& o = command.runs(run_conv_predict, session);
  command.option("model", o.model, "A .safetensors file, or a run folder that holds model.safetensors")
      .required();
  command.option("images", o.files, "JPEG or PNG files").required();
  command.option("--top", o.top, "Classes to name for each image, >= 1").positive();
  add_device_options(command, o.device);
  command.flag("--json", o.json, "Print a JSON list, an object for each image [off]");
  command.examples({"zeroloss conv predict runs/paper cat.png",
                    "zeroloss conv predict runs/paper cat.png dog.jpg --top 5",
                    "zeroloss conv predict runs/photos photos/val/*/*.jpg --json"});
}

}  // namespace zeroloss::app
