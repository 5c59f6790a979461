#include "support/maps.hpp"

#include <Eigen/QR>
#include <cmath>

#include "support/bounds.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::test {

Matrix gaussian(Index rows, Index cols, std::uint64_t seed) {
  Random random(seed, Stream::points);
  Matrix G(rows, cols);
  random.fill_normal(G);
  return G;
}

Matrix orthogonal(Index d, std::uint64_t seed) {
  return Eigen::HouseholderQR<Matrix>(gaussian(d, d, seed)).householderQ();
}

Matrix conditioned(Index d, double largest, double condition, std::uint64_t seed) {
  Vector s(d);
  for (Index i = 0; i < d; ++i)
    s(i) = largest * std::pow(condition, d > 1 ? -static_cast<double>(i) / static_cast<double>(d - 1) : 0);
  return orthogonal(d, 2 * seed) * s.asDiagonal() * orthogonal(d, 2 * seed + 1);
}

Matrix covariance(Index d, std::uint64_t seed) {
  const Matrix G = gaussian(d, d, seed);
  return G * G.transpose() / static_cast<double>(d) + 0.3 * Matrix::Identity(d, d);
}

LinearResnet random_network(Index d, Index layers, double size, std::uint64_t seed) {
  LinearResnet network;
  for (Index i = 0; i < layers; ++i) {
    const Matrix G = gaussian(d, d, seed + 1000 * static_cast<std::uint64_t>(i + 1));
    network.A.push_back(size / (2 * std::sqrt(static_cast<double>(d))) * G);
  }
  return network;
}

Matrix plain_product(const std::vector<Matrix>& A) {
  Matrix product = Matrix::Identity(A.front().rows(), A.front().cols());
  for (std::size_t i = A.size(); i-- > 0;)
    product = product * (Matrix::Identity(A[i].rows(), A[i].cols()) + A[i]);
  return product;
}

double product_rounding(const LinearProblem& problem, double tau, Index layers) {
  const auto d = static_cast<double>(problem.d()), l = static_cast<double>(layers);
  return test::gamma_of(l * (d + 2)) * (d * std::pow(1 + tau, l) + problem.R.norm());
}

double excess_rounding(const LinearProblem& problem, double tau, Index layers, double excess) {
  const auto d = static_cast<double>(problem.d());
  const double off = product_rounding(problem, tau, layers);
  const double sums = (backward_error(d) + test::gamma_of(d * d + d)) * problem.sigma_max / problem.sigma_min;
  return (2 * std::sqrt(problem.sigma_max * excess) + problem.sigma_max * off) * off + sums * excess;
}

double gradient_rounding(const LinearProblem& problem, double tau, Index layers, double excess) {
  const auto d = static_cast<double>(problem.d()), l = static_cast<double>(layers);
  const double condition = problem.sigma_max / problem.sigma_min;
  const double chain = condition * (test::gamma_of((l + 2) * (d + 2)) * d + backward_error(d));
  return 2 * std::sqrt(l) * std::pow(1 + tau, l - 1) * problem.sigma_max *
         (product_rounding(problem, tau, layers) + chain * std::sqrt(excess / problem.sigma_min));
}

}  // namespace zeroloss::test
