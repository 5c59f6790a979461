#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "width/search.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

// Arithmetic modulo a prime in which powers of two, the denominators of floating-point numbers, have an
// inverse. What is not zero modulo it is not zero.
using Residue = std::uint64_t;
constexpr int kBits = 31;
constexpr Residue kPrime = (Residue{1} << kBits) - 1;  // so that 2^31 = 1

// Of any number below 2^63; the answer is below 2^31, and 0 for all multiples.
Residue reduced(Residue a) {
  a = (a & kPrime) + (a >> kBits);
  a = (a & kPrime) + (a >> kBits);
  return a >= kPrime ? a - kPrime : a;
}
Residue times(Residue a, Residue b) { return reduced(a * b); }
Residue minus(Residue a) { return a == 0 ? 0 : kPrime - a; }

Residue inverse(Residue a) {  // a^(p - 2)
  Residue result = 1;
  for (Residue power = kPrime - 2; power > 0; power >>= 1, a = times(a, a))
    if (power & 1) result = times(result, a);
  return result;
}

// x = mantissa 2^exponent exactly.
Residue residue(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  const auto mantissa = static_cast<long long>(std::ldexp(fraction, 53));
  const Residue size = reduced(static_cast<Residue>(std::llabs(mantissa)));
  const int shift = ((exponent - 53) % kBits + kBits) % kBits;
  const Residue value = times(size, Residue{1} << shift);
  return mantissa < 0 ? minus(value) : value;
}

using Residues = Eigen::Matrix<std::uint32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Residues residues(const RowMatrix& points, const Center& center, const std::vector<Index>& rows) {
  Residues R(static_cast<Index>(rows.size()), points.cols());
  for (Index i = 0; i < R.rows(); ++i)
    for (Index k = 0; k < R.cols(); ++k) {
      Residue value = residue(points(rows[static_cast<std::size_t>(i)], k));
      if (!center.empty()) value += minus(residue(center.high(k))) + minus(residue(center.low(k)));
      R(i, k) = static_cast<std::uint32_t>(reduced(value));
    }
  return R;
}

// Independent rows. Each begins with a one, its pivot, and is zero at the pivots of those before it.
class Echelon {
 public:
  explicit Echelon(const Residues& points) : points_(points) {}

  Index size() const { return static_cast<Index>(pivots_.size()); }

  // Takes a point that does not depend on those before it; says whether it did.
  bool take(Index i) {
    std::vector<std::uint32_t> row(points_.row(i).begin(), points_.row(i).end());
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const Residue factor = minus(row[pivots_[r]]);
      if (factor == 0) continue;
      const std::uint32_t* top = rows_[r].data();
      for (std::size_t k = pivots_[r]; k < row.size(); ++k)
        row[k] = static_cast<std::uint32_t>(reduced(factor * top[k] + row[k]));
    }
    std::size_t pivot = 0;
    while (pivot < row.size() && row[pivot] == 0) ++pivot;
    if (pivot == row.size()) return false;
    const Residue scale = inverse(row[pivot]);
    for (std::uint32_t& number : row) number = static_cast<std::uint32_t>(times(scale, number));
    rows_.push_back(std::move(row));
    pivots_.push_back(pivot);
    return true;
  }

  // A vector that is orthogonal to the first rows, and random else.
  std::vector<Residue> orthogonal(Index rows, Random& random) const {
    std::vector<Residue> u(static_cast<std::size_t>(points_.cols()));
    for (Residue& number : u) number = random.below(kPrime);
    for (std::size_t r = static_cast<std::size_t>(rows); r-- > 0;) {
      Residue sum = 0;
      for (std::size_t k = 0; k < u.size(); ++k)
        if (k != pivots_[r]) sum += times(rows_[r][k], u[k]);
      u[pivots_[r]] = minus(reduced(sum));
    }
    return u;
  }

 private:
  const Residues& points_;
  std::vector<std::vector<std::uint32_t>> rows_;
  std::vector<std::size_t> pivots_;
};

// Whether the first `size` rows, and no other point, lie on the plane orthogonal to some vector. A vector is
// drawn, which can miss the answer yes.
bool apart(const Residues& points, const Echelon& echelon, Index size, Random& random) {
  const auto u = echelon.orthogonal(size, random);
  Index on_plane = 0;
  const Threads threads(static_cast<double>(points.size()));
#pragma omp parallel for reduction(+ : on_plane)
  for (Index i = 0; i < points.rows(); ++i) {
    Residue sum = 0;
    for (Index k = 0; k < points.cols(); ++k) sum += times(points(i, k), u[static_cast<std::size_t>(k)]);
    on_plane += reduced(sum) == 0 ? 1 : 0;
  }
  return on_plane == size;
}

// The longest beginning of `order` that can be a group: what holds of one holds of each that is shorter. 0 if
// not even its first point is one.
Index longest(const Residues& points, const std::vector<Index>& order, std::size_t from, Random& random) {
  Echelon echelon(points);
  for (std::size_t k = from; k < order.size() && echelon.size() < points.cols(); ++k)
    if (!echelon.take(order[k])) break;
  Index good = 0;
  for (Index bad = echelon.size() + 1; bad - good > 1;) {
    const Index size = good == 0 && bad == echelon.size() + 1 ? echelon.size() : (good + bad) / 2;
    (apart(points, echelon, size, random) ? good : bad) = size;
  }
  return good;
}

}  // namespace

std::vector<std::vector<Index>> biased_groups(const RowMatrix& points, const Center& center,
                                              const std::vector<Index>& rows, const WidthOptions& options,
                                              const Deadline& deadline, Progress& progress) {
  std::vector<std::vector<Index>> best;
  const Residues numbers = residues(points, center, rows);
  for (Index draw = 0; draw < std::max<Index>(options.draws, 1); ++draw) {
    Random random(options.seed + static_cast<std::uint64_t>(draw), Stream::shuffle);
    std::vector<Index> order(rows.size());
    std::iota(order.begin(), order.end(), Index{0});
    shuffle(order, random);
    std::vector<std::vector<Index>> groups;
    for (std::size_t from = 0; from < order.size();) {
      progress.check();
      if (deadline.left() <= 0) return best;
      if (!best.empty() && groups.size() + 1 >= best.size()) break;  // no better than one that is known
      const auto size = static_cast<std::size_t>(longest(numbers, order, from, random));
      if (size == 0) return best;
      std::vector<Index>& group = groups.emplace_back();
      for (std::size_t k = from; k < from + size; ++k)
        group.push_back(rows[static_cast<std::size_t>(order[k])]);
      std::ranges::sort(group);
      from += size;
      if (from == order.size()) best = groups;
    }
  }
  return best;
}

}  // namespace zeroloss::internal
