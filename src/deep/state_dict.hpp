#pragma once
#include <string>
#include <vector>

#include "zeroloss/deep/read.hpp"
#include "zeroloss/storage/tensors.hpp"

/// PyTorch's state_dicts of linear layers, NAME.weight and NAME.bias.
namespace zeroloss::internal {

/// The names in a list with commas.
std::vector<std::string> activations_in(const std::string& list);

/// `file` is what errors call it; a note says which layers were taken in which order. Throws as
/// read_network().
ReadNetwork network_of_state(const std::string& file, const TensorFile& state, const StateLayout& layout);

}  // namespace zeroloss::internal
