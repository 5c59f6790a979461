#include "memorize/integers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>

#include "memorize/tasks.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kWhole = 0x1p52;  // doubles hold all integers up to twice that: room for what checks round
constexpr std::int64_t kLargest = 1LL << 35;  // of keys
constexpr int kHashBits = 20, kMultiplierBits = 16;
constexpr double kBar = 0x1p50;  // no word is above

// Coordinates of the hidden state. Keys give their place to slots, hashes to `later`.
enum Coordinate : Index { kKey, kOne, kHash, kWord, kEarlier, kLabel, kWidth };
constexpr Index kSlot = kKey, kLater = kHash;

struct Unit {  // relu(from . h + bias), times `to`
  std::vector<std::pair<Index, double>> from;
  double bias;
  std::vector<std::pair<Index, double>> to;
};

/// Residual blocks that are written one after the other.
class Writer {
 public:
  void block(const std::vector<Unit>& units) {
    RowMatrix U = RowMatrix::Zero(kWidth, kWidth), V = U;
    Vector s = Vector::Zero(kWidth);
    for (std::size_t a = 0; a < units.size(); ++a) {
      const auto row = static_cast<Index>(a);
      for (const auto& [c, w] : units[a].from) U(row, c) += w;
      for (const auto& [c, w] : units[a].to) V(c, row) += w;
      s(row) = units[a].bias;
    }
    U_.push_back(std::move(U)), V_.push_back(std::move(V)), s_.push_back(std::move(s));
  }
  // to += sign [sum of from >= least], for integers: two units.
  static void step(std::vector<Unit>& units, std::vector<std::pair<Index, double>> from, double least,
                   Index to, double sign = 1) {
    units.push_back({from, 1 - least, {{to, sign}}});
    units.push_back({std::move(from), -least, {{to, -sign}}});
  }
  void clear(Index coordinate) { block({{{{coordinate, 1}}, 0, {{coordinate, -1}}}}); }

  void write(Memorizer& network) const {
    const Index l = std::ssize(U_);
    network.U.resize(l * kWidth, kWidth), network.V.resize(l * kWidth, kWidth), network.s.resize(l * kWidth);
    for (Index j = 0; j < l; ++j) {
      const auto at = static_cast<std::size_t>(j);
      network.U.middleRows(j * kWidth, kWidth) = U_[at];
      network.V.middleRows(j * kWidth, kWidth) = V_[at];
      network.s.segment(j * kWidth, kWidth) = s_[at];
    }
  }

 private:
  std::vector<RowMatrix> U_, V_;
  std::vector<Vector> s_;
};

/// Points of consecutive keys that share a word.
struct Group {
  std::int64_t begin = 0;       // least key
  std::int64_t shift = 0;       // hash of a key: (key - begin + shift) multiplier
  std::int64_t multiplier = 0;  // odd
  double word = 0;              // labels as digits, by slots
};

struct Keyed {
  std::int64_t key;
  Index label;
};

/// Digits of words and how slots are found.
struct Digits {
  explicit Digits(Index classes) : base(std::max<Index>(classes, 2)) {
    double largest = static_cast<double>(base);
    for (count = 1; count < 16 && largest * static_cast<double>(base) <= kBar; ++count)
      largest *= static_cast<double>(base);
    slot_bits = std::bit_width(static_cast<unsigned>(count - 1));
    bits = std::bit_width(static_cast<std::uint64_t>(base - 1));
  }
  Index base;
  int count = 1;      // of a word
  int slot_bits = 0;  // the hash's highest
  int bits = 0;       // of a digit
  double power(int j) const { return std::pow(static_cast<double>(base), j); }
};

/// A multiplier that gives points from `first` on slots of their own; as many points as can be had.
Group group_of(const std::vector<Keyed>& points, std::size_t first, const Digits& digits, Random& random,
               std::size_t& size) {
  constexpr std::size_t kMost = 13;
  constexpr int kTrials = 40'000;
  size = std::min({static_cast<std::size_t>(digits.count), kMost, points.size() - first});
  Group group;
  group.begin = points[first].key;
  std::array<int, kMost> slots{};
  const auto are_apart = [&] {
    unsigned taken = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const auto hash = (points[first + i].key - group.begin + group.shift) * group.multiplier;
      const auto slot = static_cast<int>((hash & ((1 << kHashBits) - 1)) >> (kHashBits - digits.slot_bits));
      if (slot >= digits.count || (taken >> slot & 1U) != 0) return false;
      taken |= 1U << slot;
      slots[i] = slot;
    }
    return true;
  };
  for (;; --size) {
    for (int trial = 0; trial < kTrials; ++trial) {
      group.multiplier = static_cast<std::int64_t>(random.below(1U << (kMultiplierBits - 1)) * 2 + 1);
      group.shift = static_cast<std::int64_t>(random.below(1U << kHashBits));
      if (!are_apart()) continue;
      for (std::size_t i = 0; i < size; ++i)
        group.word += static_cast<double>(points[first + i].label) * digits.power(slots[i]);
      return group;
    }
  }
}

void write_groups(Writer& writer, const std::vector<Group>& groups, std::int64_t largest_key) {
  const double bar = static_cast<double>(largest_key) + 0x1p21;  // above every key and shift
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const auto begin = static_cast<double>(group.begin), shift = static_cast<double>(group.shift);
    const auto end = static_cast<double>(g + 1 < groups.size() ? groups[g + 1].begin : largest_key + 1);
    std::vector<Unit> units;
    Writer::step(units, {{kKey, 1}}, begin, kOne);
    Writer::step(units, {{kKey, 1}}, end, kOne, -1);
    writer.block(units);
    writer.block(
        {{{{kKey, 1}, {kOne, bar}}, shift - begin - bar, {{kHash, static_cast<double>(group.multiplier)}}},
         {{{kOne, 1}}, 0, {{kWord, group.word}, {kOne, -1}}}});
  }
  writer.clear(kKey);
}

// The hash modulo 2^kHashBits, whose highest bits become the slot.
void write_slot(Writer& writer, const Digits& digits, double largest_hash) {
  for (int bit = std::ilogb(largest_hash); bit >= kHashBits - digits.slot_bits; --bit) {
    std::vector<Unit> units;
    Writer::step(units, {{kHash, 1}}, std::ldexp(1.0, bit), kOne);
    writer.block(units);
    std::vector<std::pair<Index, double>> to{{kHash, -std::ldexp(1.0, bit)}, {kOne, -1}};
    if (bit < kHashBits) to.emplace_back(kSlot, std::ldexp(1.0, bit - kHashBits + digits.slot_bits));
    writer.block({{{{kOne, 1}}, 0, to}});
  }
  writer.clear(kHash);
}

// The digit of the slot becomes the label: digits above it are taken off, those below are left.
void write_digit(Writer& writer, const Digits& digits) {
  for (int j = digits.count - 1; j >= 0; --j) {
    std::vector<Unit> units;
    Writer::step(units, {{kSlot, 1}}, j + 1, kLater);
    Writer::step(units, {{kSlot, -1}}, 1 - j, kEarlier);
    writer.block(units);
    for (int bit = digits.bits - 1; bit >= 0; --bit) {
      const double size = std::ldexp(1.0, bit) * digits.power(j);
      if (size > kBar) continue;  // no word has it
      units.clear();
      Writer::step(units, {{kWord, 1}, {kLater, -kBar}}, size, kOne);
      writer.block(units);
      writer.block({{{{kOne, 1}}, 0, {{kWord, -size}, {kOne, -1}}},
                    {{{kOne, 1}, {kEarlier, -1}}, 0, {{kLabel, std::ldexp(1.0, bit)}}}});
    }
    writer.block({{{{kLater, 1}}, 0, {{kLater, -1}}}, {{{kEarlier, 1}}, 0, {{kEarlier, -1}}}});
  }
}

// Output c is 1 where the label is c, else 0.
void write_outputs(Index classes, Memorizer& network) {
  network.U_out = RowMatrix::Zero(classes + 2, kWidth);
  network.s_out = Vector::LinSpaced(classes + 2, 1, -static_cast<double>(classes));
  network.U_out.col(kLabel).setOnes();
  network.V_out = RowMatrix::Zero(classes, classes + 2);
  for (Index c = 0; c < classes; ++c) network.V_out.row(c).segment<3>(c) << 1, -2, 1;
}

/// Integers m_j with <m, x> another one for each of the points (their rows), and these sums.
struct Keys {
  Vector weights;  // of x, powers of two in them
  std::vector<std::int64_t> keys;
};

bool has_repeats(std::vector<std::int64_t> keys) {
  std::ranges::sort(keys);
  return std::ranges::adjacent_find(keys) != keys.end();
}

std::optional<Keys> draw_keys(const RowMatrix& X, const Columns& columns, std::uint64_t seed) {
  constexpr int kDraws = 40;
  std::vector<Index> useful;
  for (Index j = 0; j < X.cols(); ++j)
    if (columns.largest(j) > 0) useful.push_back(j);
  Random random(seed, Stream::memorizer, 3);
  Keys found;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<Index> some = useful;
    shuffle(some, random);
    some.resize(std::min(some.size(), std::size_t{32} << (draw / 4)));
    double size = 0;  // of a key with weights 1
    for (const Index j : some) size += columns.largest(j) / columns.quantum(j);
    const double largest = std::floor(static_cast<double>(kLargest) / 2 / std::max(size, 1.0));
    if (largest < 1) continue;
    found.weights = Vector::Zero(X.cols());
    for (const Index j : some) {
      const double m = 1 + static_cast<double>(random.below(static_cast<std::uint64_t>(largest)));
      found.weights(j) = (random.below(2) == 0 ? m : -m) / columns.quantum(j);
    }
    found.keys.resize(static_cast<std::size_t>(X.rows()));
    for (Index i = 0; i < X.rows(); ++i)
      found.keys[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(X.row(i).dot(found.weights));
    if (!has_repeats(found.keys)) return found;
  }
  return {};
}

/// First rows of points that differ; throws for equal points with different labels.
std::vector<Index> distinct_points(const Memory& memory) {
  const RowMatrix& X = memory.data.X;
  std::vector<Index> order(static_cast<std::size_t>(X.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto before = [&](Index i, Index j) {
    return std::lexicographical_compare(X.row(i).begin(), X.row(i).end(), X.row(j).begin(), X.row(j).end());
  };
  std::ranges::stable_sort(order, before);
  std::vector<Index> rows;
  for (const Index i : order) {
    if (rows.empty() || X.row(rows.back()) != X.row(i)) {
      rows.push_back(i);
    } else if (!memory.same_target(rows.back(), i)) {
      throw DataError(fmt::format(
          "{}: samples {} and {} are the same point: no network gives it both targets", memory.data.name,
          describe(sample(memory.data, rows.back())), describe(sample(memory.data, i))));
    }
  }
  return rows;
}

bool are_floats(const RowMatrix& X) {
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; j < X.cols(); ++j)
      if (static_cast<double>(static_cast<float>(X(i, j))) != X(i, j)) return false;
  return true;
}

bool are_integers(const RowMatrix& A) { return (A.array() == A.array().round()).all(); }

// |A| most + |b| <= 2^53 with room for the check's own rounding: then sums of any order are exact.
bool stays_exact(const Eigen::Ref<const RowMatrix>& A, const Eigen::Ref<const Vector>& most,
                 const Eigen::Ref<const Vector>& beside) {
  return ((A.cwiseAbs() * most + beside.cwiseAbs()).array() <= kWhole).all();
}

}  // namespace

Construction construct_integers(const Memory& memory, Progress& progress) {
  Construction result;
  Memorizer& network = result.network;
  network.task = Task::classification;
  network.class_names = memory.data.class_names;
  network.encoding = memory.data.encoding;
  progress.stage("keys");
  const Columns columns = columns_of(memory.data.X);
  const bool rounded = !are_floats(memory.data.X);
  for (Index j = 0; j < memory.data.d(); ++j)
    if (rounded || (columns.largest(j) > 0 && columns.quantum(j) == 0)) {
      result.failure =
          fmt::format("points are to be integers, or multiples of a power of two, of 24 bits: {}",
                      rounded ? "some number needs more" : fmt::format("column {} needs more", j));
      return result;
    }
  const std::vector<Index> rows = distinct_points(memory);
  result.n_distinct = std::ssize(rows);
  const auto keys = draw_keys(memory.data.X(rows, Eigen::all), columns, memory.options.seed);
  if (!keys) {
    result.failure = "no sum of columns below 2^35 was found that tells all points apart";
    return result;
  }
  const std::int64_t least = std::ranges::min(keys->keys);
  std::vector<Keyed> points;
  for (std::size_t i = 0; i < rows.size(); ++i)
    points.push_back({keys->keys[i] - least, static_cast<Index>(memory.data.y(rows[i]))});
  std::ranges::sort(points, {}, &Keyed::key);
  const Digits digits(memory.r);
  Random random(memory.options.seed, Stream::memorizer, 4);
  std::vector<Group> groups;
  double largest_hash = 1;
  progress.stage("groups", static_cast<double>(points.size()));
  for (std::size_t first = 0, size = 0; first < points.size(); first += size) {
    groups.push_back(group_of(points, first, digits, random, size));
    const Group& group = groups.back();
    const auto hash = static_cast<double>(points[first + size - 1].key - group.begin + group.shift);
    largest_hash = std::max(largest_hash, hash * static_cast<double>(group.multiplier));
    progress.advance(static_cast<double>(size));
  }
  require_memory(3 * 8 * static_cast<double>(2 * groups.size() + 400) * (2 * kWidth + 1) * Index{kWidth},
                 "an integer memoriser", "try fewer points (n)");
  network.A_0 = RowMatrix::Zero(kWidth, memory.data.d());
  network.A_0.row(kKey) = keys->weights.transpose();
  network.b_0 = Vector::Zero(kWidth);
  network.b_0(kKey) = -static_cast<double>(least);
  Writer writer;
  write_groups(writer, groups, points.back().key);
  write_slot(writer, digits, largest_hash);
  write_digit(writer, digits);
  writer.write(network);
  write_outputs(memory.r, network);
  return result;
}

std::optional<Matrix> exact_outputs(const Memorizer& network, const RowMatrix& X, Progress& progress) {
  constexpr Index kTile = 512;
  const Index n = X.rows(), k = network.hidden();
  const Vector b = network.b_0.size() > 0 ? network.b_0 : Vector::Zero(k);
  for (const RowMatrix* A : {&network.U, &network.V, &network.U_out, &network.V_out})
    if (!are_integers(*A)) return {};
  if (!are_integers(network.s) || !are_integers(network.s_out) || !are_integers(b)) return {};
  const Columns columns = columns_of(X);
  for (Index a = 0; a < k; ++a)
    for (Index j = 0; j < network.d(); ++j) {  // w x is an integer for all multiples of the quantum
      const double integer = network.A_0(a, j) * columns.quantum(j);
      if (network.A_0(a, j) != 0 && columns.largest(j) > 0 &&
          (integer == 0 || integer != std::round(integer)))
        return {};
    }
  if (!are_floats(X) || !stays_exact(network.A_0, columns.largest, b)) return {};
  const SerialBlas serial;
  Matrix Y(n, network.outputs());
  std::atomic<bool> exact = true;
  progress.stage("proof", static_cast<double>(n));
  const auto work = [&](Index tile) {
    const Index begin = tile * kTile, count = std::min(kTile, n - begin);
    using Tile = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic>;
    Tile h = network.A_0 * X.middleRows(begin, count).transpose();
    h.colwise() += b;
    const auto most = [](const Tile& H) { return Vector(H.cwiseAbs().rowwise().maxCoeff()); };
    const auto through = [&](const auto& U, const auto& s) {
      if (!stays_exact(U, most(h), s)) exact = false;
      return Tile(((U * h).colwise() + s).cwiseMax(0));
    };
    for (Index j = 0; j < network.blocks() && exact; ++j) {
      const Tile r = through(network.U.middleRows(j * k, k), network.s.segment(j * k, k));
      const auto V = network.V.middleRows(j * k, k);
      if (!stays_exact(V, most(r), most(h))) exact = false;
      h.noalias() += V * r;
    }
    const Tile r = through(network.U_out, network.s_out);
    if (!stays_exact(network.V_out, most(r), Vector::Zero(network.outputs()))) exact = false;
    Y.middleRows(begin, count) = (network.V_out * r).transpose();
  };
  in_batches((n + kTile - 1) / kTile, static_cast<double>(kTile), progress, work,
             [](Index, Index) { return true; });
  if (!exact) return {};
  return Y;
}

}  // namespace zeroloss::internal
