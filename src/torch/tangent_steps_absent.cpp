#include "torch/absent.hpp"
#include "zeroloss/torch/tangent_steps.hpp"

namespace zeroloss {

std::unique_ptr<TangentEngine> torch_tangents(const std::string&) { internal::no_libtorch("fit"); }

}  // namespace zeroloss
