#include "zeroloss/present/loss.hpp"

namespace zeroloss {

std::string squared_loss(Task task) {
  return std::string("||f - y||^2/2") + (task == Task::classification ? ", y = -1 or 1 for classes" : "");
}

std::string loss_and_step(Task task) {
  return squared_loss(task) + "; summed over samples, steps multiply its gradient";
}

}  // namespace zeroloss
