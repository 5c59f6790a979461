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

// What rounding may do where all ||A_i|| <= tau; ||.||_F is at most sqrt(d) times the spectral norm.

/// To E = (I + A_l) .. (I + A_1) - R, in ||.||_F: a layer takes d + 2 roundings of I + |A| times what is
/// below.
double product_rounding(const LinearProblem& problem, double tau, Index layers);

/// To the excess risk ||E Sigma^(1/2)||_F^2: that of E, of the root of Sigma and of a sum of d^2 squares.
double excess_rounding(const LinearProblem& problem, double tau, Index layers, double excess);

/// To the norm of the gradient 2 S_i^T E Sigma P_i^T of all layers, and to its lower bound: l + 2 products.
double gradient_rounding(const LinearProblem& problem, double tau, Index layers, double excess);

}  // namespace zeroloss::test
