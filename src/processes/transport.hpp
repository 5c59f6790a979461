#pragma once
#include <cstddef>
#include <cstdint>

/// Between the library and libzeroloss_mpi.so, which is compiled for the MPI and the ScaLAPACK of the machine
/// and is loaded where several processes work together: the library itself links neither.
namespace zeroloss::internal {

struct Transport {
  static constexpr int kVersion = 3;

  int version = kVersion;
  const char* library = "";  ///< whose MPI it is
  void* communicator = nullptr;
  int rank = 0, size = 1;
  bool any_thread = false;  ///< may be called by any thread, one at a time

  void (*free)(Transport*) = nullptr;
  void (*broadcast)(Transport*, void* data, std::size_t bytes, int root) = nullptr;
  void (*sum)(Transport*, double* values, std::size_t count, int root) = nullptr;  ///< root < 0: on all
  void (*largest)(Transport*, double* value) = nullptr;
  void (*send)(Transport*, int to, const void* data, std::size_t bytes) = nullptr;
  bool (*receive)(Transport*, int from, void* data, std::size_t bytes) = nullptr;  ///< false: other length
  void (*exchange)(Transport*, int to, const void* out, std::size_t out_bytes, int from, void* in,
                   std::size_t in_bytes) = nullptr;
  int (*waiting)(Transport*) = nullptr;
  Transport* (*split)(Transport*, int color) = nullptr;
  void (*abort)(Transport*, int code) = nullptr;

  // ScaLAPACK and BLACS. Matrices are block-cyclic with square blocks over a grid of processes, row by row,
  // from process (0, 0); A is n x n, its local part with leading dimension `stride`.
  int (*grid)(Transport*, int rows, int columns) = nullptr;  ///< a BLACS context
  void (*grid_free)(int context) = nullptr;
  /// LAPACK's info of pdpotrf on the lower triangle.
  int (*factor)(int context, std::int64_t n, std::int64_t block, double* A, std::int64_t stride) = nullptr;
  /// B <- (L L^T)^-1 B, n x columns, all of it in the first column of processes.
  int (*solve)(int context, std::int64_t n, std::int64_t block, const double* L, std::int64_t stride,
               double* B, std::int64_t b_stride, std::int64_t columns) = nullptr;
  /// B <- L^-1 B from row and column `first` on (a multiple of the block); B is n x columns in blocks.
  void (*divide)(int context, std::int64_t n, std::int64_t first, std::int64_t block, const double* L,
                 std::int64_t stride, double* B, std::int64_t b_stride, std::int64_t columns) = nullptr;
  /// n values, ascending, on all, of the lower triangle of A, which is lost; info of pdsyev.
  int (*eigenvalues)(int context, std::int64_t n, std::int64_t block, double* A, std::int64_t stride,
                     double* values) = nullptr;
};

/// What libzeroloss_mpi.so exports: a transport over all processes, or over those of *communicator. Null
/// where MPI cannot start.
using OpenTransport = Transport* (*)(const void* communicator);
constexpr const char* kOpenTransport = "zeroloss_open_transport";

}  // namespace zeroloss::internal
