#pragma once
#include <torch/types.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

namespace zeroloss::internal {

/// The lower triangle of a symmetric n x n matrix, or its Cholesky factor, in float64 on a device: panel j of
/// `width` columns holds the rows from its diagonal on, so that there are 4 n (n + width) bytes.
class TorchPanels {
 public:
  TorchPanels(Index n, Index width, const torch::Device& device);
  static double bytes(Index n, Index width);
  static Index width_on(const torch::Device& device) { return device.is_cuda() ? 1024 : 512; }

  Index n() const { return n_; }
  Index width() const { return width_; }
  const torch::Device& device() const { return device_; }
  Index count() const { return static_cast<Index>(panels_.size()); }
  Index begin(Index j) const { return j * width_; }
  Index columns(Index j) const { return std::min(width_, n_ - begin(j)); }
  Index rows(Index j) const { return n_ - begin(j); }
  const torch::Tensor& panel(Index j) const { return panels_[static_cast<std::size_t>(j)]; }
  /// Rows of panel k from row i of the matrix on.
  torch::Tensor below(Index k, Index i) const { return panel(k).slice(0, i - begin(k)); }
  torch::Tensor diagonal_block(Index j) const { return panel(j).slice(0, 0, columns(j)); }

  /// Every entry of another matrix of the same shape.
  void copy(const TorchPanels& other);
  void scale(double factor);
  void shift_diagonal(double shift);
  Vector diagonal() const;

  /// K V, V in this process; `relied_on`: by a proof, so that its products are probed.
  Matrix product(const Matrix& V, bool relied_on = false) const;
  /// L in place of K; false if a pivot is not positive and finite.
  bool factor(Progress& progress);
  /// (L L^T)^-1 V.
  Matrix solve(const Matrix& V) const;
  /// Panel j of L L^T, on and below the diagonal block.
  torch::Tensor product_panel(Index j, Progress& progress) const;

  torch::Tensor to_device(const Matrix& V) const;
  static Matrix to_host(const torch::Tensor& values);

  /// Before products of such a shape are relied on: each once, of a processor none, whose library multiplies
  /// one way that is probed when the panels are made. Throws BackendError.
  void probe(Index rows, Index inner, Index columns) const;

 private:
  Index n_, width_;
  torch::Device device_;
  std::vector<torch::Tensor> panels_;  // panel j: rows(j) x columns(j)
  mutable std::set<std::tuple<Index, Index, Index>> probed_;
};

}  // namespace zeroloss::internal
