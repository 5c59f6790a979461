#include "zeroloss/kernel/packed.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "core/lapack.hpp"
#include "zeroloss/core/memory.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kBlock = 1024;  // columns factored at a time
constexpr Index kStrip = 256;   // columns of the inverse formed at a time

// The four pieces that RFP is made of, as column-major matrices with leading dimension `stride`.
const double* lower11(const Packed<double>& A) { return A.column(0); }
const double* full21(const Packed<double>& A) { return A.column(0) + A.n1(); }
const double* upper22(const Packed<double>& A) { return A.n2() == 0 ? nullptr : A.corner_row(A.n1()); }

bool positive(double pivot) { return pivot > 0 && std::isfinite(pivot); }

}  // namespace

template <class T>
Packed<T>::Packed(Index n) : n_(n) {
  require_memory(bytes(n), "a packed " + std::to_string(n) + " x " + std::to_string(n) + " matrix",
                 "use fewer points");
  constexpr std::size_t kHuge = std::size_t{1} << 21;
  const std::size_t count = static_cast<std::size_t>(n) * (static_cast<std::size_t>(n) + 1) / 2 * sizeof(T);
  const bool huge = count >= 8 * kHuge;
  const std::size_t alignment = huge ? kHuge : 64;
  void* memory = std::aligned_alloc(alignment, (count + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) madvise(memory, count, MADV_HUGEPAGE);  // a hint: fewer page faults and TLB misses
  values_.reset(static_cast<T*>(memory));
}

template <class T>
void Packed<T>::Free::operator()(T* values) const {
  std::free(values);
}

template class Packed<double>;
template class Packed<float>;

Matrix product(const Packed<double>& A, const Matrix& V) {
  const Index n = A.n(), n1 = A.n1(), n2 = A.n2(), m = V.cols(), ld = A.stride();
  Matrix R(n, m);
  lapack::symm('L', n1, m, lower11(A), ld, V.data(), n, 0, R.data(), n);
  lapack::gemm('T', 'N', n1, m, n2, 1, full21(A), ld, V.data() + n1, n, 1, R.data(), n);
  lapack::gemm('N', 'N', n2, m, n1, 1, full21(A), ld, V.data(), n, 0, R.data() + n1, n);
  lapack::symm('U', n2, m, upper22(A), ld, V.data() + n1, n, 1, R.data() + n1, n);
  return R;
}

void shift_diagonal(Packed<double>& A, double shift) {
  for (Index i = 0; i < A.n(); ++i) A(i, i) += shift;
}

bool factor(Packed<double>& A, Progress& progress) {
  const Index n = A.n(), n1 = A.n1(), n2 = A.n2(), ld = A.stride();
  const auto flops = [](double rows, double columns, double depth) { return rows * columns * depth; };

  // The trapezoid [A11; A21], n x n1, a block column at a time. Row and column indices are those of the
  // matrix.
  for (Index j = 0; j < n1; j += kBlock) {
    const Index w = std::min(kBlock, n1 - j), below = n - j - w;
    double* block = A.column(j) + j;
    const double* left = A.column(0) + j;                      // rows j.. of the finished columns
    lapack::syrk('L', 'N', w, j, -1, left, ld, 1, block, ld);  // above the block's diagonal lies the corner
    lapack::gemm('N', 'T', below, w, j, -1, left + w, ld, left, ld, 1, block + w, ld);
    if (lapack::potrf('L', w, block, ld) != 0) return false;
    lapack::trsm('R', 'L', 'T', below, w, block, ld, block + w, ld);
    for (Index i = 0; i < w; ++i)
      if (!positive(block[i * ld + i])) return false;
    progress.advance(flops(n - j, w, j) + flops(below, w, w) / 2);
  }
  if (n2 == 0) return true;

  // The corner A22 -= A21 A21^T, stored as its upper triangle U: row block by row block of U, so that it can
  // be stopped.
  double* corner = A.corner_row(n1);
  const double* left = A.column(0) + n1;
  for (Index j = 0; j < n2; j += kBlock) {
    const Index w = std::min(kBlock, n2 - j), right = n2 - j - w;
    double* block = corner + j * ld + j;
    double* rest = block + w * ld;
    lapack::syrk('U', 'N', w, n1, -1, left + j, ld, 1, block, ld);
    lapack::gemm('N', 'T', w, right, n1, -1, left + j, ld, left + j + w, ld, 1, rest, ld);
    lapack::syrk('U', 'T', w, j, -1, corner + j * ld, ld, 1, block, ld);
    lapack::gemm('T', 'N', w, right, j, -1, corner + j * ld, ld, corner + (j + w) * ld, ld, 1, rest, ld);
    if (lapack::potrf('U', w, block, ld) != 0) return false;
    lapack::trsm('L', 'U', 'T', w, right, block, ld, rest, ld);
    for (Index i = 0; i < w; ++i)
      if (!positive(block[i * ld + i])) return false;
    progress.advance(flops(right + w / 2.0, w, n1 + j) + flops(right, w, w) / 2);
  }
  return true;
}

void solve_forward(const Packed<double>& L, Eigen::Ref<Matrix> B) {
  const Index n1 = L.n1(), n2 = L.n2(), m = B.cols(), ld = L.stride(), ldb = B.outerStride();
  lapack::trsm('L', 'L', 'N', n1, m, lower11(L), ld, B.data(), ldb);
  lapack::gemm('N', 'N', n2, m, n1, -1, full21(L), ld, B.data(), ldb, 1, B.data() + n1, ldb);
  lapack::trsm('L', 'U', 'T', n2, m, upper22(L), ld, B.data() + n1, ldb);
}

void solve_backward(const Packed<double>& L, Eigen::Ref<Matrix> B) {
  const Index n1 = L.n1(), n2 = L.n2(), m = B.cols(), ld = L.stride(), ldb = B.outerStride();
  lapack::trsm('L', 'U', 'N', n2, m, upper22(L), ld, B.data() + n1, ldb);
  lapack::gemm('T', 'N', n1, m, n2, -1, full21(L), ld, B.data() + n1, ldb, 1, B.data(), ldb);
  lapack::trsm('L', 'L', 'T', n1, m, lower11(L), ld, B.data(), ldb);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): a Ref is a reference already
void solve(const Packed<double>& L, Eigen::Ref<Matrix> B) {
  solve_forward(L, B);
  solve_backward(L, B);
}

Vector inverse_diagonal(const Packed<double>& L, Progress& progress) {
  const Index n = L.n(), n1 = L.n1(), n2 = L.n2(), ld = L.stride();
  Vector diagonal(n);
  Matrix strip(n, std::min(kStrip, n));
  for (Index j = 0; j < n;) {
    // Columns j .. j+w of L^-1 vanish above row j; a strip never crosses from A11 into A22.
    const Index w = std::min(kStrip, (j < n1 ? n1 : n) - j);
    auto Z = strip.leftCols(w);
    Z.setZero();
    for (Index c = 0; c < w; ++c) Z(j + c, c) = 1;
    if (j < n1) {
      lapack::trsm('L', 'L', 'N', n1 - j, w, L.column(j) + j, ld, Z.data() + j, n);
      lapack::gemm('N', 'N', n2, w, n1 - j, -1, L.column(j) + n1, ld, Z.data() + j, n, 0, Z.data() + n1, n);
      lapack::trsm('L', 'U', 'T', n2, w, upper22(L), ld, Z.data() + n1, n);
    } else {
      lapack::trsm('L', 'U', 'T', n - j, w, L.corner_row(j) + (j - n1), ld, Z.data() + j, n);
    }
    for (Index c = 0; c < w; ++c) diagonal(j + c) = Z.col(c).tail(n - j).squaredNorm();
    progress.advance(static_cast<double>(n - j) * static_cast<double>(n - j) * static_cast<double>(w));
    j += w;
  }
  return diagonal;
}

}  // namespace zeroloss
