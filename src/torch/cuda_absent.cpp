#include "torch/cuda.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal::cuda {
namespace {

[[noreturn]] void absent() { throw BackendError("this build of LibTorch has no CUDA"); }

}  // namespace

struct Graph::State {};

int devices() { return 0; }
std::string version() { return "no CUDA"; }
std::string name(int) { absent(); }
void configure(bool) { absent(); }
double free_bytes(int) { absent(); }
void use(int) { absent(); }
void synchronize() { absent(); }
Graph::Graph(const std::function<void()>&) { absent(); }
Graph::~Graph() = default;
void Graph::replay() { absent(); }

}  // namespace zeroloss::internal::cuda
