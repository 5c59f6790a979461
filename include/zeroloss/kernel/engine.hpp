#pragma once
#include <memory>
#include <string>

#include "zeroloss/kernel/kernel_matrix.hpp"
#include "zeroloss/kernel/row_blocks.hpp"

/// Where the heavy work about a kernel is done.
namespace zeroloss {

namespace internal {
class TailPasses;
struct PowerGrid;
}  // namespace internal

/// This process, unless one of those that derive from it is given: processes of a Group
/// (cluster/cluster.hpp).
class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// "4 processes, 2 x 2"; "" of this one.
  virtual std::string name() const { return ""; }
  virtual int processes() const { return 1; }
  /// How factorisations are proved unless one asks for another way.
  virtual Proof proof() const { return Proof::theorem; }
  /// Whether Proof::theorem may be asked for: not of one that inverts blocks where the theorem divides.
  virtual bool follows_theorem() const { return true; }
  /// The most bytes of a process for the kernel of n points with d numbers, for which `columns` vectors are
  /// in process 0; and what is free of them, the least of all.
  virtual double matrix_bytes(Index n, Index d, Index columns) const;
  virtual double available_bytes() const;
  /// X must outlive the matrix.
  virtual std::unique_ptr<KernelMatrix> matrix(const RowMatrix& X);
  /// X must outlive the passes.
  virtual std::unique_ptr<internal::TailPasses> tail_passes(const RowBlocks& X,
                                                            const internal::PowerGrid& grid);
};

/// This process.
Engine& this_process();

}  // namespace zeroloss
