#include "support/maps.hpp"

#include <Eigen/QR>
#include <cmath>

#include "zeroloss/core/random.hpp"

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

}  // namespace zeroloss::test
