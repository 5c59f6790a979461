#include "zeroloss/linear/linear_resnet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "linear/proof.hpp"
#include "linear/risk.hpp"

namespace zeroloss {
using namespace internal;

Matrix LinearResnet::product() const {
  if (A.empty()) return {};
  Matrix h = Matrix::Identity(A.front().rows(), A.front().cols());
  for (const Matrix& layer : A) h += layer * h;
  return h;
}

double LinearResnet::max_norm() const {
  double largest = 0;
  const Matrix* previous = nullptr;  // constructed networks repeat layers
  for (const Matrix& layer : A) {
    if (previous == nullptr || layer != *previous) largest = std::max(largest, verified::norm_bound(layer));
    previous = &layer;
  }
  return largest;
}

Risk internal::risk_and_gradient(const LinearProblem& problem, const LinearResnet& network,
                                 std::vector<Matrix>& G) {
  const std::vector<Matrix>& A = network.A;
  const std::size_t l = A.size();
  std::vector<Matrix> P(l + 1);  // P_i = (I + A_i) .. (I + A_1)
  P[0] = Matrix::Identity(problem.d(), problem.d());
  for (std::size_t i = 0; i < l; ++i) P[i + 1] = P[i] + A[i] * P[i];
  const Matrix E = P[l] - problem.R;
  Risk risk;
  risk.excess = (E * problem.root).squaredNorm();
  Matrix Z = 2 * E * problem.Sigma;  // 2 S_i^T E Sigma
  G.resize(l);
  double squares = 0;
  for (std::size_t i = l; i-- > 0;) {
    G[i].noalias() = Z * P[i].transpose();
    squares += G[i].squaredNorm();
    if (i > 0) Z += A[i].transpose() * Z;
  }
  risk.gradient_norm = std::sqrt(squares);
  return risk;
}

double internal::gradient_bound(const LinearProblem& problem, Index layers, double tau, double excess) {
  if (!(tau < 1)) return 0;
  const auto l = static_cast<double>(layers);
  return 2 * std::sqrt(l * problem.sigma_min * excess) * std::exp((l - 1) * std::log1p(-tau));
}

Landscape landscape(const LinearProblem& problem, const LinearResnet& network,
                    std::vector<Matrix>* gradient) {
  const Index d = problem.d(), l = network.layers();
  if (l < 1) throw std::invalid_argument("landscape: layers must be >= 1; got 0");
  for (const Matrix& layer : network.A)
    if (layer.rows() != d || layer.cols() != d)
      throw std::invalid_argument(fmt::format("landscape: layers must be {} x {}, as R is; got {} x {}", d, d,
                                              layer.rows(), layer.cols()));
  std::vector<Matrix> own;
  std::vector<Matrix>& G = gradient != nullptr ? *gradient : own;
  const Risk risk = risk_and_gradient(problem, network, G);
  Landscape at;
  at.excess_risk = risk.excess;
  at.risk = risk.excess + problem.noise;
  at.gradient_norm = risk.gradient_norm;
  at.max_norm = network.max_norm();
  at.gradient_bound = gradient_bound(problem, l, at.max_norm, at.excess_risk);
  return at;
}

}  // namespace zeroloss
