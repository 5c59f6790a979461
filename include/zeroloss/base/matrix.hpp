#pragma once
#include <Eigen/Core>

#include "zeroloss/base/ieee.hpp"

/// Dense matrices of the library. Sizes and indices are signed 64-bit.
namespace zeroloss {

using Index = Eigen::Index;

/// Data: n x d, one point a row, rows contiguous (the layout of NumPy arrays).
template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMatrix = Rows<double>;

/// Blocks of column vectors (targets, eigenvectors): columns contiguous.
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

}  // namespace zeroloss
