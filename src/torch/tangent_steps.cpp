#include "zeroloss/torch/tangent_steps.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

#include "base/as_double.hpp"
#include "torch/activations.hpp"
#include "torch/device.hpp"
#include "torch/guarded.hpp"
#include "torch/panels.hpp"
#include "torch/tangent_matrix.hpp"

namespace zeroloss {
using namespace internal;
namespace {

template <class Work>
auto on_device(Work work) {
  const torch::NoGradGuard no_gradients;
  return guarded("gauss_newton", kNarrower, work);
}

class TorchSteps final : public TangentSteps {
 public:
  TorchSteps(const RowMatrix& X, const TwoLayer& start, const Activation& activation,
             const torch::Device& device)
      : phi_(torch_activation(activation)), rectifier_(activation.rectifier()), device_(device) {
    const double n = as_double(X.rows()), d = as_double(X.cols()), m = as_double(start.W.rows());
    const Index width = TorchPanels::width_on(device);
    require_bytes(2 * TorchPanels::bytes(X.rows(), width) + form_tangent_bytes(X.rows(), width) +
                      8 * (8 * n * m + 5 * m * d + n * d) +
                      tangent_matrix_bytes(X.rows(), X.cols(), start.W.rows(), width),
                  device, fmt::format("gauss_newton with {} points and width {}", X.rows(), start.W.rows()),
                  kNarrower);
    on_device([&] {
      X_ = to_device(X);
      W0_ = to_device(start.W);
      v_ = to_device(start.v).squeeze(1);
      K_.emplace(X.rows(), width, device_);
      L_.emplace(X.rows(), width, device_);
      W_ = W0_.clone();
      Z0_ = at::mm(X_, W0_.t()).ge(0);
    });
    refresh();
  }

  const Vector& f() const override { return f_; }

  void refresh() override {
    on_device([&] {
      Z_ = at::mm(X_, W_.t());
      f_ = to_host(at::mv(phi_.phi(Z_), v_).unsqueeze(1)).col(0);
    });
  }

  // K = (S S^T) o G with S = phi'(Z) diag(v).
  double form(double spread) override {
    for (torch::Tensor* old : {&slopes_, &here_, &Z_here_}) old->reset();
    return on_device([&] {
      slopes_ = rectifier_ && spread > 0 ? (Z_ / (2 * spread) + 0.5).clamp_(0, 1) : phi_.dphi(Z_);
      form_tangent(*K_, slopes_ * v_, X_, false);
      here_ = W_;
      Z_here_ = Z_;
      f_here_ = f_;
      const Vector diagonal = K_->diagonal();
      return diagonal.allFinite() ? diagonal.maxCoeff() : std::nan("");
    });
  }

  std::optional<Vector> solve(double mu, const Vector& r, double /*enough*/, Progress& progress) override {
    progress.check();
    return on_device([&]() -> std::optional<Vector> {
      L_->copy(*K_);
      L_->shift_diagonal(mu);
      Progress silent = progress.silent();  // what is reported are steps
      if (!L_->factor(silent)) return {};
      return Vector(L_->solve(r));
    });
  }

  // J^T c = diag(v) phi'(Z)^T diag(c) X
  double move(const Vector& c) override {
    const double length = on_device([&] {
      const torch::Tensor step = at::mm((slopes_ * to_device(c)).t(), X_).mul_(v_.unsqueeze(1));
      W_ = here_ - step;
      return std::sqrt(step.square().sum().item<double>());
    });
    refresh();
    return length;
  }

  double moved() const override {
    return on_device(
        [&] { return std::sqrt((Z_ - Z_here_).square_().sum().item<double>() / as_double(Z_.numel())); });
  }

  void go_back() override {
    W_ = here_;
    Z_ = Z_here_;
    f_ = f_here_;
  }

  RowMatrix weights() const override {
    return on_device([&] { return to_host(W_); });
  }

  Travel travel() const override {
    return on_device([&] {
      const torch::Tensor squares = (W_ - W0_).square_().sum(1);
      return Travel{std::sqrt(squares.max().item<double>()), std::sqrt(squares.sum().item<double>()),
                    Z_.ge(0).ne(Z0_).sum().item<double>() / as_double(Z_.numel())};
    });
  }

  std::map<std::string, Matrix> snapshot() const override { return {{"W", weights()}}; }
  void restore(const std::map<std::string, Matrix>& from) override {
    const RowMatrix W = from.at("W");
    on_device([&] { W_ = to_device(W); });
    refresh();
  }

 private:
  /// A copy, rows x columns; a vector is a column.
  torch::Tensor to_device(const Eigen::Ref<const RowMatrix>& M) const {
    const RowMatrix rows = M;
    return torch::from_blob(const_cast<double*>(rows.data()), {rows.rows(), rows.cols()}, torch::kDouble)
        .to(device_, torch::kDouble, /*non_blocking=*/false, /*copy=*/true);
  }
  static RowMatrix to_host(const torch::Tensor& values) {
    const torch::Tensor host = values.to(torch::kCPU).contiguous();
    return Eigen::Map<const RowMatrix>(host.data_ptr<double>(), host.size(0), host.size(1));
  }

  const TorchActivation phi_;
  const bool rectifier_;
  const torch::Device device_;
  torch::Tensor X_, v_, W0_, Z0_;         // n x d, m, m x d; n x m, where Z >= 0 at the start
  torch::Tensor W_, Z_;                   // m x d, n x m
  torch::Tensor here_, Z_here_, slopes_;  // of form(): W, Z, phi'(Z)
  std::optional<TorchPanels> K_, L_;      // of form(), and the last factor
  Vector f_, f_here_;
};

class TorchTangents final : public TangentEngine {
 public:
  explicit TorchTangents(const torch::Device& device) : device_(device) {}

  std::string name() const override { return engine_name(device_); }
  std::string device() const override { return device_.is_cuda() ? "cuda" : "cpu"; }
  std::unique_ptr<TangentSteps> begin(const RowMatrix& X, const TwoLayer& start,
                                      const Activation& activation) const override {
    return std::make_unique<TorchSteps>(X, start, activation, device_);
  }
  std::unique_ptr<TangentMatrix> matrix(const Matrix& S, const RowMatrix& X) const override {
    return torch_tangent_matrix(S, X, device_);
  }

 private:
  const torch::Device device_;
};

}  // namespace

std::unique_ptr<TangentEngine> torch_tangents(const std::string& device) {
  return std::make_unique<TorchTangents>(use_device("fit", device));
}

}  // namespace zeroloss
