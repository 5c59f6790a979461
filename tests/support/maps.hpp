#pragma once
#include <vector>

#include "zeroloss/linear/linear_resnet.hpp"

/// Maps, problems and networks for tests of linear networks.
namespace zeroloss::test {

Matrix gaussian(Index rows, Index cols, std::uint64_t seed);

Matrix orthogonal(Index d, std::uint64_t seed);

/// U diag(s) V^T with singular values spread evenly, in logarithm, from `largest` to largest/condition.
Matrix conditioned(Index d, double largest, double condition, std::uint64_t seed);

/// A random covariance with condition number about 10.
Matrix covariance(Index d, std::uint64_t seed);

/// `layers` random layers of spectral norm about `size`.
LinearResnet random_network(Index d, Index layers, double size, std::uint64_t seed);

/// (I + A_l) .. (I + A_1), formed from the left with the factors as matrices.
Matrix plain_product(const std::vector<Matrix>& A);

}  // namespace zeroloss::test
