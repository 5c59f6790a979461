#pragma once
#include <torch/types.h>

#include <set>
#include <tuple>
#include <vector>

#include "kernel/entry_run.hpp"
#include "torch/entries.hpp"
#include "zeroloss/kernel/kernel_matrix.hpp"

namespace zeroloss::internal {

/// Tensors of float64 on a device: block column j of `width` columns holds the rows from its diagonal on, so
/// that there are 4 n (n + width) bytes. X must outlive it. Throws BackendError where products are not exact
/// enough to prove anything (probe.hpp), ResourceError where the memory is not there.
class TorchMatrix final : public KernelMatrix {
 public:
  TorchMatrix(const RowMatrix& X, const torch::Device& device, Index width);

  static constexpr Index kRows = 16;  ///< of a tile that is formed at once, in widths
  static Index width_on(const torch::Device& device) { return device.is_cuda() ? 1024 : 512; }
  /// Of the device, with `columns` vectors of it.
  static double bytes(const torch::Device& device, Index n, Index d, Index columns, Index width);

  Index n() const override { return n_; }
  void form(const Kernel& kernel, double shift, Progress& progress) override;
  Matrix product(const Matrix& V) override;
  Vector eigenvalues() override;
  bool factor(Progress& progress) override;
  Matrix solve(const Matrix& V) override;
  Vector inverse_diagonal(Progress& progress) override;
  double residual(const Kernel& kernel, double shift, Progress& progress) override;

  /// The entries on and below the diagonal, n x n, the others 0: for tests.
  Matrix lower() const;
  /// Replaces entry (i, j), i >= j: for tests, which see whether errors are seen.
  void set(Index i, Index j, double value);

 private:
  Index count() const { return static_cast<Index>(panels_.size()); }
  Index begin(Index j) const { return j * width_; }
  Index columns(Index j) const { return std::min(width_, n_ - begin(j)); }
  Index rows(Index j) const { return n_ - begin(j); }
  /// Rows of panel k from row i of the matrix on.
  torch::Tensor below(Index k, Index i) const {
    return panels_[static_cast<std::size_t>(k)].slice(0, i - begin(k));
  }
  torch::Tensor diagonal_block(Index j) const {
    return panels_[static_cast<std::size_t>(j)].slice(0, 0, columns(j));
  }

  /// Before products of such a shape are used: each once, of a processor the largest.
  void probe(Index rows, Index inner, Index columns);
  /// Rows i .. of panel j as entries of the kernel, 0 above the diagonal, `at_one` on it.
  void entries(const Kernel& kernel, const TorchEntries& map, double at_one, Index i, Index j,
               torch::Tensor& tile, Tally& tally);
  double error_of(const Kernel& kernel, const Tally& tally) const;

  torch::Tensor to_device(const Matrix& V) const;
  static Matrix to_host(const torch::Tensor& values);

  const RowMatrix& X_;
  Index n_, width_;
  torch::Device device_;
  torch::Tensor points_;               // n x d
  std::vector<torch::Tensor> panels_;  // panel j: rows(j) x columns(j)
  std::set<std::tuple<Index, Index, Index>> probed_;
};

}  // namespace zeroloss::internal
