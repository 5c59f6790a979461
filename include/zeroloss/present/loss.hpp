#pragma once
#include <string>

#include "zeroloss/data/dataset.hpp"

/// The loss in words: without them neither "zero loss" nor a step means anything.
namespace zeroloss {

/// "||f - y||^2/2", and of classes their targets: "||f - y||^2/2, y = -1 or 1 for classes".
std::string squared_loss(Task task);

/// The same with what a step is: "..; summed over samples, steps multiply its gradient".
std::string loss_and_step(Task task);

}  // namespace zeroloss
