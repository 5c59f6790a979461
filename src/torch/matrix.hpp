#pragma once
#include <torch/types.h>

#include "kernel/entry_run.hpp"
#include "torch/entries.hpp"
#include "torch/panels.hpp"
#include "zeroloss/kernel/kernel_matrix.hpp"

namespace zeroloss::internal {

/// Panels of `width` columns on a device. X must outlive it. Throws BackendError where products are not exact
/// enough to prove anything (probe.hpp), ResourceError where the memory is not there.
class TorchMatrix final : public KernelMatrix {
 public:
  TorchMatrix(const RowMatrix& X, const torch::Device& device, Index width);

  static constexpr Index kRows = 16;  ///< of a tile that is formed at once, in widths
  static Index width_on(const torch::Device& device) { return TorchPanels::width_on(device); }
  /// Of the device, with `columns` vectors of it.
  static double bytes(const torch::Device& device, Index n, Index d, Index columns, Index width);

  Index n() const override { return panels_.n(); }
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
  /// Rows i .. of panel j as entries of the kernel, 0 above the diagonal, `at_one` on it.
  void entries(const Kernel& kernel, const TorchEntries& map, double at_one, Index i, Index j,
               torch::Tensor& tile, Tally& tally);
  double error_of(const Kernel& kernel, const Tally& tally) const;

  const RowMatrix& X_;
  torch::Device device_;
  torch::Tensor points_;  // n x d
  TorchPanels panels_;
};

}  // namespace zeroloss::internal
