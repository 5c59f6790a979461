#include "zeroloss/torch/engine.hpp"

#include "torch/device.hpp"
#include "torch/matrix.hpp"
#include "torch/tail.hpp"

namespace zeroloss {
using namespace internal;
namespace {

class TorchEngine final : public Engine {
 public:
  explicit TorchEngine(const torch::Device& device) : device_(device) {}

  std::string name() const override { return engine_name(device_); }
  Proof proof() const override { return Proof::residual; }
  bool follows_theorem() const override { return false; }
  double matrix_bytes(Index n, Index d, Index columns) const override {
    return TorchMatrix::bytes(device_, n, d, columns, TorchMatrix::width_on(device_));
  }
  double available_bytes() const override { return internal::available_bytes(device_); }
  std::unique_ptr<KernelMatrix> matrix(const RowMatrix& X) override {
    return std::make_unique<TorchMatrix>(X, device_, TorchMatrix::width_on(device_));
  }
  std::unique_ptr<TailPasses> tail_passes(const RowBlocks& X, const PowerGrid& grid) override {
    return std::make_unique<TorchTail>(X, grid, device_);
  }

 private:
  const torch::Device device_;
};

}  // namespace

std::unique_ptr<Engine> torch_engine(const std::string& device) {
  return std::make_unique<TorchEngine>(use_device("certify", device));
}

}  // namespace zeroloss
