#include "zeroloss/kernel/packed.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <ranges>
#include <type_traits>
#include <vector>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "linalg/parallel.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss {
using namespace internal;
namespace {

template <class T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

constexpr Index kBlock = 512;  // columns factored or solved for at a time, sides of a tile of a product
constexpr Index kStrip = 256;  // columns of the inverse formed at a time
constexpr Index kGroups = 16;  // of tiles, each with a sum of its own: the same for any number of threads

// A22^T, column-major with leading dimension `stride`.
template <class T>
const T* upper22(const Packed<T>& A) {
  return A.n2() == 0 ? nullptr : A.corner_row(A.n1());
}

bool positive(double pivot) { return pivot > 0 && std::isfinite(pivot); }

double cubic(Index a, Index b, Index c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

struct Range {
  Index begin = 0, count = 0;
};

/// Rows, and columns, in blocks none of which reaches from A11 into A22.
template <class T>
std::vector<Range> blocks_of(const Packed<T>& A) {
  std::vector<Range> blocks;
  for (const Range part : {Range{0, A.n1()}, Range{A.n1(), A.n2()}})
    for (Index done = 0; done < part.count; done += kBlock)
      blocks.push_back({part.begin + done, std::min(kBlock, part.count - done)});
  return blocks;
}

/// R += A V for one tile on or below the diagonal, and for its transpose. Entries of another kind than the
/// sums are converted in `converted`.
template <class T, class S>
void add_tile(const Packed<T>& A, const Range& row, const Range& column, const Columns<S>& V, Columns<S>& R,
              Columns<S>& converted) {
  const Index n = A.n(), m = V.cols();
  const bool corner = column.begin >= A.n1();  // where the tile lies transposed
  const T* stored =
      corner ? A.corner_row(row.begin) + (column.begin - A.n1()) : A.column(column.begin) + row.begin;
  Index ld = A.stride();
  const S* tile = nullptr;
  if constexpr (std::is_same_v<T, S>) {
    tile = stored;
  } else {
    converted = Eigen::Map<const Columns<T>, 0, Eigen::OuterStride<>>(
                    stored, corner ? column.count : row.count, corner ? row.count : column.count,
                    Eigen::OuterStride<>(ld))
                    .template cast<S>();
    tile = converted.data();
    ld = converted.rows();
  }
  const S *above = V.data() + column.begin, *beside = V.data() + row.begin;
  S *to_row = R.data() + row.begin, *to_column = R.data() + column.begin;
  if (row.begin == column.begin) {
    lapack::symm(corner ? 'U' : 'L', row.count, m, tile, ld, above, n, S{1}, to_row, n);
    return;
  }
  const char plain = corner ? 'T' : 'N', other = corner ? 'N' : 'T';
  lapack::gemm(plain, 'N', row.count, m, column.count, S{1}, tile, ld, above, n, S{1}, to_row, n);
  lapack::gemm(other, 'N', column.count, m, row.count, S{1}, tile, ld, beside, n, S{1}, to_column, n);
}

constexpr std::size_t kHuge = std::size_t{1} << 21;  // bytes of a large page

std::size_t numbers_of(Index n) {
  return static_cast<std::size_t>(n) * (static_cast<std::size_t>(n) + 1) / 2;
}

}  // namespace

template <class T>
Packed<T>::Packed(Index n) : n_(n) {
  require_memory(bytes(n), "a packed " + fmt::to_string(n) + " x " + fmt::to_string(n) + " matrix",
                 "use fewer points");
  const std::size_t count = numbers_of(n) * sizeof(T);
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

// The system may leave it as it is; what was there is gone in any case. Only of memory that begins at a large
// page.
template <class T>
void Packed<T>::give_back(std::size_t before) {
  const std::size_t begin = (numbers_of(n_) * sizeof(T) + kHuge - 1) / kHuge * kHuge;
  const std::size_t end = numbers_of(n_) * before / kHuge * kHuge;
  if (end >= 8 * kHuge && begin < end)
    madvise(reinterpret_cast<char*>(values_.get()) + begin, end - begin, MADV_DONTNEED);
}

// Ascending, so that no entry is written over before it is read.
template <class T>
template <class U>
Packed<T> Packed<T>::rounded(Packed<U>&& other) {
  static_assert(sizeof(T) < sizeof(U));
  const Index n = other.n_;
  auto* const memory = reinterpret_cast<char*>(other.values_.release());
  for (std::size_t k = 0; k < numbers_of(n); ++k) {
    U value;
    std::memcpy(&value, memory + k * sizeof(U), sizeof(U));
    const T nearest = static_cast<T>(value);
    std::memcpy(memory + k * sizeof(T), &nearest, sizeof(T));
  }
  Packed all(n, static_cast<void*>(memory));
  all.give_back(sizeof(U));
  return all;
}

template <class T>
Packed<T> Packed<T>::copy() const {
  Packed other(n_);
  std::copy_n(values_.get(), numbers_of(n_), other.values_.get());
  return other;
}

template class Packed<double>;
template class Packed<float>;
template Packed<float> Packed<float>::rounded(Packed<double>&& other);

namespace {

template <class T, class S>
Columns<S> product_of(const Packed<T>& A, const Columns<S>& V) {
  const std::vector<Range> blocks = blocks_of(A);
  const auto side = std::ssize(blocks);
  const Index m = V.cols(), groups = std::min<Index>(kGroups, side);
  std::vector<Columns<S>> sums(static_cast<std::size_t>(groups));
  const SerialBlas serial;
  const Threads threads(side > 1 ? cubic(A.n(), A.n(), m) : 0);
  parallel_for(groups, [&](Index group) {
    Columns<S>& R = sums[static_cast<std::size_t>(group)];
    Columns<S> converted;
    R.setZero(A.n(), m);
    for (Index tile = group; tile < side * side; tile += groups) {
      const Range &row = blocks[static_cast<std::size_t>(tile % side)],
                  &column = blocks[static_cast<std::size_t>(tile / side)];
      if (row.begin >= column.begin) add_tile(A, row, column, V, R, converted);
    }
  });
  for (Index group = 1; group < groups; ++group) sums.front() += sums[static_cast<std::size_t>(group)];
  return std::move(sums.front());
}

}  // namespace

Matrix product(const Packed<double>& A, const Matrix& V) { return product_of(A, V); }
Eigen::MatrixXf product(const Packed<float>& A, const Eigen::MatrixXf& V) { return product_of(A, V); }
Matrix product(const Packed<float>& A, const Matrix& V) { return product_of(A, V); }

void shift_diagonal(Packed<double>& A, double shift) {
  for (Index i = 0; i < A.n(); ++i) A(i, i) += shift;
}

namespace {

template <class T>
bool factor_packed(Packed<T>& A, Progress& progress) {
  const Index n = A.n(), n1 = A.n1(), n2 = A.n2(), ld = A.stride();
  const SerialBlas serial;
  const auto flops = [](double rows, double columns, double depth) { return rows * columns * depth; };

  // The trapezoid [A11; A21], n x n1, a block column at a time. Row and column indices are those of the
  // matrix.
  for (Index j = 0; j < n1; j += kBlock) {
    const Index w = std::min(kBlock, n1 - j), below = n - j - w;
    T* block = A.column(j) + j;
    const T* left = A.column(0) + j;  // rows j.. of the finished columns
    parallel::syrk('L', 'N', w, j, T{-1}, left, ld, T{1}, block,
                   ld);  // above the block's diagonal lies the corner
    parallel::gemm('N', 'T', below, w, j, T{-1}, left + w, ld, left, ld, T{1}, block + w, ld);
    if (lapack::potrf('L', w, block, ld) != 0) return false;
    parallel::trsm('R', 'L', 'T', below, w, block, ld, block + w, ld);
    for (Index i = 0; i < w; ++i)
      if (!positive(block[i * ld + i])) return false;
    progress.advance(flops(n - j, w, j) + flops(below, w, w) / 2);
  }
  if (n2 == 0) return true;

  // The corner A22 -= A21 A21^T, stored as its upper triangle U: row block by row block of U, so that it can
  // be stopped.
  T* corner = A.corner_row(n1);
  const T* left = A.column(0) + n1;
  for (Index j = 0; j < n2; j += kBlock) {
    const Index w = std::min(kBlock, n2 - j), right = n2 - j - w;
    T* block = corner + j * ld + j;
    T* rest = block + w * ld;
    parallel::syrk('U', 'N', w, n1, T{-1}, left + j, ld, T{1}, block, ld);
    parallel::gemm('N', 'T', w, right, n1, T{-1}, left + j, ld, left + j + w, ld, T{1}, rest, ld);
    parallel::syrk('U', 'T', w, j, T{-1}, corner + j * ld, ld, T{1}, block, ld);
    parallel::gemm('T', 'N', w, right, j, T{-1}, corner + j * ld, ld, corner + (j + w) * ld, ld, T{1}, rest,
                   ld);
    if (lapack::potrf('U', w, block, ld) != 0) return false;
    parallel::trsm('L', 'U', 'T', w, right, block, ld, rest, ld);
    for (Index i = 0; i < w; ++i)
      if (!positive(block[i * ld + i])) return false;
    progress.advance(flops(right + w / 2.0, w, n1 + j) + flops(right, w, w) / 2);
  }
  return true;
}

// A block of rows at a time, whose share the rows below then lose: each entry of L is read once.
template <class T, class Block>
void forward(const Packed<T>& L, Block& B) {
  const SerialBlas serial;
  const Index n = L.n(), n1 = L.n1(), m = B.cols(), ld = L.stride(), ldb = B.outerStride();
  for (const auto [j, w] : blocks_of(L)) {
    const Index below = n - j - w;
    T *block = B.data() + j, *rest = block + w;
    if (j < n1) {
      const T* column = L.column(j) + j;
      parallel::trsm('L', 'L', 'N', w, m, column, ld, block, ldb);
      parallel::gemm('N', 'N', below, m, w, T{-1}, column + w, ld, block, ldb, T{1}, rest, ldb);
    } else {
      const T* row = L.corner_row(j) + (j - n1);
      parallel::trsm('L', 'U', 'T', w, m, row, ld, block, ldb);
      parallel::gemm('T', 'N', below, m, w, T{-1}, row + w * ld, ld, block, ldb, T{1}, rest, ldb);
    }
  }
}

template <class T, class Block>
void backward(const Packed<T>& L, Block& B) {
  const SerialBlas serial;
  const Index n1 = L.n1(), m = B.cols(), ld = L.stride(), ldb = B.outerStride();
  const std::vector<Range> blocks = blocks_of(L);
  for (const auto [j, w] : std::views::reverse(blocks)) {
    T* block = B.data() + j;
    if (j < n1) {
      parallel::trsm('L', 'L', 'T', w, m, L.column(j) + j, ld, block, ldb);
      parallel::gemm('T', 'N', j, m, w, T{-1}, L.column(0) + j, ld, block, ldb, T{1}, B.data(), ldb);
    } else {
      const T* row = L.corner_row(j);
      parallel::trsm('L', 'U', 'N', w, m, row + (j - n1), ld, block, ldb);
      parallel::gemm('N', 'N', j - n1, m, w, T{-1}, row, ld, block, ldb, T{1}, B.data() + n1, ldb);
      parallel::gemm('T', 'N', n1, m, w, T{-1}, L.column(0) + j, ld, block, ldb, T{1}, B.data(), ldb);
    }
  }
}

}  // namespace

bool factor(Packed<double>& A, Progress& progress) { return factor_packed(A, progress); }
bool factor(Packed<float>& A, Progress& progress) { return factor_packed(A, progress); }

// NOLINTBEGIN(performance-unnecessary-value-param): a Ref is a reference already
void solve_forward(const Packed<double>& L, Eigen::Ref<Matrix> B) { forward(L, B); }
void solve_backward(const Packed<double>& L, Eigen::Ref<Matrix> B) { backward(L, B); }

void solve(const Packed<double>& L, Eigen::Ref<Matrix> B) {
  forward(L, B);
  backward(L, B);
}

void solve(const Packed<float>& L, Eigen::Ref<Eigen::MatrixXf> B) {
  forward(L, B);
  backward(L, B);
}
// NOLINTEND(performance-unnecessary-value-param)

namespace {

template <class T>
Vector inverse_diagonal_of(const Packed<T>& L, Progress& progress) {
  const Index at_once = std::max<Index>(4, 2 * thread_count());  // strips between reports
  const Index n = L.n(), n1 = L.n1(), n2 = L.n2(), ld = L.stride();
  std::vector<Range> strips;  // none reaches from A11 into A22
  for (const Range part : {Range{0, n1}, Range{n1, n2}})
    for (Index done = 0; done < part.count; done += kStrip)
      strips.push_back({part.begin + done, std::min(kStrip, part.count - done)});
  Vector diagonal(n);
  const SerialBlas serial;
  const Threads threads(strips.size() > 1 ? cubic(n, n, kStrip) : 0);
  // Columns j .. j+w of L^-1 vanish above row j.
  const auto strip = [&](const Range& columns) {
    const auto [j, w] = columns;
    Columns<T> Z = Columns<T>::Zero(n - j, w);
    for (Index c = 0; c < w; ++c) Z(c, c) = 1;
    if (j < n1) {
      lapack::trsm('L', 'L', 'N', n1 - j, w, L.column(j) + j, ld, Z.data(), n - j);
      lapack::gemm('N', 'N', n2, w, n1 - j, T{-1}, L.column(j) + n1, ld, Z.data(), n - j, T{0},
                   Z.data() + n1 - j, n - j);
      lapack::trsm('L', 'U', 'T', n2, w, upper22(L), ld, Z.data() + n1 - j, n - j);
    } else {
      lapack::trsm('L', 'U', 'T', n - j, w, L.corner_row(j) + (j - n1), ld, Z.data(), n - j);
    }
    diagonal.segment(j, w) = Z.template cast<double>().colwise().squaredNorm();
  };
  for (Index first = 0; first < std::ssize(strips); first += at_once) {
    const Index end = std::min<Index>(std::ssize(strips), first + at_once);
    parallel_for(end - first, [&](Index k) { strip(strips[static_cast<std::size_t>(first + k)]); });
    double done = 0;
    for (Index k = first; k < end; ++k) {
      const auto& [j, w] = strips[static_cast<std::size_t>(k)];
      done += cubic(n - j, n - j, w);
    }
    progress.advance(done);
  }
  return diagonal;
}

}  // namespace

Vector inverse_diagonal(const Packed<double>& L, Progress& progress) {
  return inverse_diagonal_of(L, progress);
}

Vector inverse_diagonal(const Packed<float>& L, Progress& progress) {
  return inverse_diagonal_of(L, progress);
}

}  // namespace zeroloss
