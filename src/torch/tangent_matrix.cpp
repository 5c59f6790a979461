#include "torch/tangent_matrix.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/as_double.hpp"
#include "kernel/residual.hpp"
#include "torch/device.hpp"
#include "torch/guarded.hpp"
#include "torch/probe.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss::internal {
namespace {

template <class Work>
auto for_certificate(const Work& work) {
  const torch::NoGradGuard no_gradients;
  return guarded("certificate", kFewerPoints, work);
}

class TorchTangentMatrix final : public TangentMatrix {
 public:
  TorchTangentMatrix(const Matrix& S, const RowMatrix& X, const torch::Device& device, Index width)
      : K_(X.rows(), width, device), L_(X.rows(), width, device) {
    const Index n = X.rows(), side = std::min(width, n);
    for (const Index inner : {S.cols(), X.cols(), side})
      check_products(device, torch::kDouble, n, inner, side);
    const torch::Tensor points =
        torch::from_blob(const_cast<double*>(X.data()), {n, X.cols()}, torch::kDouble).to(device);
    form_tangent(K_, K_.to_device(S), points, true);
  }

  Vector diagonal() const override {
    return for_certificate([&] { return K_.diagonal(); });
  }
  Matrix product(const Matrix& V) const override {
    return for_certificate([&] { return K_.product(V, V.cols() == 1); });
  }
  bool factor(double sign, double s, Progress& progress) override {
    sign_ = sign;
    s_ = s;
    return for_certificate([&] {
      L_.copy(K_);
      L_.shift_diagonal(-s);
      if (sign < 0) L_.scale(sign);
      return L_.factor(progress);
    });
  }
  Matrix solve(const Matrix& B) const override {
    return for_certificate([&] { return L_.solve(B); });
  }
  // Squares are summed over a panel's rows and columns, then panels.
  std::optional<double> residual(Progress& progress) const override {
    return for_certificate([&] {
      ResidualSums sums;
      double largest = 0;  // of the diagonal, each of which is rounded once
      for (Index j = 0; j < K_.count(); ++j) {
        torch::Tensor A = K_.panel(j).clone();
        A.slice(0, 0, K_.columns(j)).tril_();
        A.diagonal().sub_(s_);
        A.mul_(sign_);
        largest = std::max(largest, A.diagonal().abs().max().item<double>());
        sums.of_A += twice_off_diagonal(A);
        A.sub_(L_.product_panel(j, progress));
        A.slice(0, 0, K_.columns(j)).tril_();
        sums.of_residual += twice_off_diagonal(A);
        sums.of_L += L_.panel(j).square().sum(0).sum().item<double>();
      }
      return (sums.bound(as_double(K_.n())) + u * largest) * kUp;
    });
  }

 private:
  // The difference is at least half of what it is of: one rounding more.
  static double twice_off_diagonal(const torch::Tensor& lower) {
    return 2 * lower.square().sum(0).sum().item<double>() - lower.diagonal().square().sum().item<double>();
  }

  TorchPanels K_, L_;
  double sign_ = 1, s_ = 0;
};

}  // namespace

// Of the diagonal block the entries above the diagonal are never looked at.
void form_tangent(TorchPanels& K, const torch::Tensor& S, const torch::Tensor& X, bool relied_on) {
  for (Index j = 0; j < K.count(); ++j) {
    const Index first = K.begin(j), end = first + K.columns(j);
    if (relied_on)
      for (const Index inner : {S.size(1), X.size(1)}) K.probe(K.rows(j), inner, K.columns(j));
    torch::Tensor panel = K.panel(j);
    at::mm_out(panel, S.slice(0, first), S.slice(0, first, end).t());
    panel.mul_(at::mm(X.slice(0, first), X.slice(0, first, end).t()));
  }
}

double form_tangent_bytes(Index n, Index width) { return 8 * as_double(n) * as_double(std::min(n, width)); }

// Beside both matrices: of a residual three panels and six of a probe; S and X, and as much again of one
// while it is copied or probed.
double tangent_matrix_bytes(Index n, Index d, Index m, Index width) {
  return 2 * TorchPanels::bytes(n, width) + 9 * form_tangent_bytes(n, width) +
         8 * as_double(n) * as_double(m + d + 2 * std::max(m, d));
}

std::unique_ptr<TangentMatrix> torch_tangent_matrix(const Matrix& S, const RowMatrix& X,
                                                    const torch::Device& device) {
  const Index n = X.rows(), width = TorchPanels::width_on(device);
  require_bytes(tangent_matrix_bytes(n, X.cols(), S.cols(), width), device,
                fmt::format("the certificate of {} points", n), kFewerPoints);
  return for_certificate([&] { return std::make_unique<TorchTangentMatrix>(S, X, device, width); });
}

}  // namespace zeroloss::internal
