#include "torch/absent.hpp"
#include "zeroloss/torch/descents.hpp"

namespace zeroloss {

std::unique_ptr<DescentEngine> torch_descents(const std::string&) { internal::no_libtorch("sweep"); }

}  // namespace zeroloss
