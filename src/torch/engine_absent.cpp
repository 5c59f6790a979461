#include "torch/absent.hpp"
#include "zeroloss/torch/engine.hpp"

namespace zeroloss {

std::unique_ptr<Engine> torch_engine(const std::string&) { internal::no_libtorch("certify"); }

}  // namespace zeroloss
