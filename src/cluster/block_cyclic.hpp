#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/layout.hpp"
#include "kernel/entry_run.hpp"
#include "zeroloss/kernel/gram.hpp"
#include "zeroloss/processes/process_group.hpp"

/// The kernel matrix of n points over a grid of processes, and what all of them do together about it. Every
/// member is called by all, with the same arguments unless it says that those of process 0 count.
namespace zeroloss::internal {

struct Sizes {
  Index n = 0, d = 0, block = 0;
};

class BlockCyclic {
 public:
  /// Memory for it, all zeros: 8 n^2/P bytes a process, of which those above the diagonal are never touched,
  /// and 8 n d (1/rows + 1/columns) for the points. `failure` is on all what the first process that has none
  /// says.
  BlockCyclic(const Group& group, const Sizes& sizes, std::string& failure);
  ~BlockCyclic();
  BlockCyclic(const BlockCyclic&) = delete;
  BlockCyclic& operator=(const BlockCyclic&) = delete;

  static std::string shape(int processes);  ///< "2 x 3"
  /// Of one process, the most of any.
  static double bytes(int processes, const Sizes& sizes);
  /// Why so many processes cannot have it; "" if they can: PBLAS counts the numbers of a process in 32 bits.
  static std::string refused(int processes, const Sizes& sizes);

  const Layout& rows() const { return rows_; }
  const Layout& columns() const { return columns_; }

  /// Of n x d numbers of process 0 (null elsewhere) the rows of both layouts.
  void deal_rows(const RowMatrix* X, Index d, RowMatrix& of_rows, RowMatrix& of_columns) const;
  void take_points(const RowMatrix* X);  ///< that of process 0; null elsewhere

  /// What the pass over the pairs saw; on process 0 complete.
  struct Pass {
    Closest closest;
    double singular_sum = 0;
  };
  Pass form(const Kernel& kernel, double shift);
  /// Any symmetric matrix, by tiles of at most side x side of local rows i .. i_end and columns j .. j_end:
  /// entry (r, c) at at[(c - j) stride + r - i]. Entries above the diagonal mean nothing. Called by several
  /// threads.
  using Tile = std::function<void(Index i, Index i_end, Index j, Index j_end, double* at, Index stride)>;
  void fill(double on_diagonal, Index side, const Tile& tile);
  /// Ascending, on all. What is formed stays; each process has its part twice meanwhile. Nothing where one
  /// has no memory for that.
  std::optional<Vector> eigenvalues() const;
  bool factor();
  /// V and the results are those of process 0; elsewhere V is not read and the results mean nothing.
  Matrix product(const Matrix& V);
  Matrix solve(const Matrix& V);
  Vector inverse_diagonal();
  /// The bound, the same on all, and what the pass that formed A again saw.
  std::pair<double, Pass> residual(const Kernel& kernel, double shift);

 private:
  /// Columns [first, last) of mine, as they are on and below the diagonal, into `out`, whose first column is
  /// the first of these.
  void entries(const Kernel& kernel, double shift, Index first, Index last, double* out,
               std::vector<Tally>& tallies) const;
  Pass gathered(const std::vector<Tally>& tallies) const;
  Matrix to_all(const Matrix& V) const;

  Group group_, row_, column_;
  Sizes sizes_;
  Layout rows_, columns_;
  int context_ = -1;
  Index stride_ = 1;
  struct Free {
    void operator()(double* values) const;
  };
  using Numbers = std::unique_ptr<double[], Free>;
  std::size_t numbers() const;  ///< of my part
  Numbers A_;
  RowMatrix row_points_, column_points_;
};

}  // namespace zeroloss::internal
