#pragma once
#include <filesystem>

#include "zeroloss/deep/network.hpp"
#include "zeroloss/storage/tensors.hpp"

/// Networks of layers as files: .safetensors to keep them.
namespace zeroloss {

/// Writes a safetensors file, all numbers F64: tensors W1, b1, U1, bU1 of the first hidden layer as far as it
/// has them, W2 .. of those behind it, V, c, shift, shift_low and factor; metadata kind = deep,
/// format_version = 1, layers (a JSON list: activation, residual, scale and leak of each), precision, task
/// and class_names. `extra` is kept beside these; what it says under one of their keys is left out. Written
/// as write_tensors does. Throws std::invalid_argument for a network that check() refuses.
void save_model(const std::filesystem::path& path, const DeepNetwork& network, const Metadata& extra = {});

/// What save_model wrote: the same numbers to the last bit. Throws DataError naming the file and what is
/// wrong: not safetensors, another kind or a later version, layers that do not fit each other, unknown
/// activations, values that are not finite. Tensors and metadata of other names are left alone.
DeepNetwork load_deep(const std::filesystem::path& path);

}  // namespace zeroloss
