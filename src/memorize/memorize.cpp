#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/choices.hpp"
#include "base/clock.hpp"
#include "linalg/rounding.hpp"
#include "memorize/balls.hpp"
#include "memorize/construct.hpp"
#include "memorize/exact_network.hpp"
#include "memorize/forward.hpp"
#include "memorize/integers.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kWidest = 512;  // that is tried unasked
constexpr std::size_t kWrongShown = 20;
constexpr double kUnknown = std::numeric_limits<double>::infinity();  // an error without a bound

void require(bool met, const std::string& what) {
  if (!met) throw std::invalid_argument("memorize: " + what);
}

void check(const MemorizeOptions& o, bool classes, Index r) {
  check_choices("memorize", o);
  require(!o.margin || (*o.margin > 0 && *o.margin <= 0.25),
          fmt::format("margin must be in (0, 0.25]; got {}", o.margin.value_or(0)));
  require(!o.tolerance || (*o.tolerance > 0 && std::isfinite(*o.tolerance)),
          fmt::format("tolerance must be > 0; got {}", o.tolerance.value_or(0)));
  require(o.seed < (std::uint64_t{1} << 53), fmt::format("seed must be below 2^53; got {}", o.seed));
  require(classes || o.construction == "norm_ordered",
          fmt::format("construction {} is for classes", o.construction));
  if (o.construction == "integer") {
    require(o.precision == "float64", "construction integer is for precision float64");
    require(!o.hidden && !o.margin, "construction integer has neither `hidden` nor `margin`: leave them out");
  }
  if (!o.hidden) return;
  require(*o.hidden >= 1, fmt::format("hidden must be >= 1; got {}", *o.hidden));
  require(!classes || r <= 2 || *o.hidden >= 2,
          fmt::format("hidden must be >= 2 for {} classes; got {}", r, *o.hidden));
  require(classes || *o.hidden >= r,
          fmt::format("hidden must be >= {} for {} real-valued targets a point; got {}", r, r, *o.hidden));
}

/// Numbers between which squares and quotients neither overflow nor vanish.
void require_in_range(const Dataset& data, const std::string& precision, double length, const char* what) {
  const double limit = precision == "float32" ? 1e30 : 1e290;
  if (length != 0 && !(length >= 1 / limit && length <= limit))
    throw DataError(fmt::format("{}: {} of length {:.3g} are out of range for {}; divide them by it",
                                data.name.empty() ? "data" : data.name, what, length, precision));
}

/// ||row|| of every row, without overflow.
template <class Matrix>
Vector lengths(const Matrix& rows) {
  Vector lengths(rows.rows());
#pragma omp parallel for
  for (Index i = 0; i < rows.rows(); ++i) {
    lengths(i) = rows.row(i).norm();
    if (lengths(i) > 1e-140 && lengths(i) < 1e140) continue;
    const double largest = rows.row(i).cwiseAbs().maxCoeff();
    lengths(i) = largest > 0 ? largest * (rows.row(i) / largest).norm() : 0;
  }
  return lengths;
}

double default_margin(const Memory& memory) { return memory.single() ? 1e-3 : 1e-9; }

/// Codes lie within half of the shortest image: they drown in the rounding of the longest.
bool has_short(const Memory& memory, const Vector& length) {
  const double unit = memory.single() ? 0x1p-24 : u;
  return length.minCoeff() <= std::sqrt(unit) * length.maxCoeff();
}

/// Rows of points, each column by its scale.
template <class Matrix>
auto scaled(const Memory& memory, const Matrix& rows) {
  return (rows.array().rowwise() * memory.scale.transpose().array()).matrix();
}

/// 0, and where a point is 0 or next to it, a place beside it.
std::vector<Origin> origins(const Memory& memory) {
  require_in_range(memory.data, memory.options.precision, lengths(memory.data.X).maxCoeff(), "points");
  const Vector length = lengths(scaled(memory, memory.data.X));
  const double longest = length.maxCoeff();
  const bool paper = memory.options.construction == "paper";
  std::vector<Origin> list;
  if (length.minCoeff() > 0 || paper) list.push_back({"linear", {}, longest, false});
  if (has_short(memory, length) && !paper) list.push_back({"constant", {}, longest, true});
  return list;
}

/// The mean, where it hides the points' differences but the rounding of A_0 x, from which it is subtracted,
/// does not.
std::optional<Origin> centre(const Memory& memory, double longest) {
  const Vector mean = memory.data.X.colwise().mean().transpose();
  const Vector length = lengths(scaled(memory, memory.data.X.rowwise() - mean.transpose()));
  const double spread = length.maxCoeff(), unit = memory.single() ? 0x1p-24 : u;
  const double margin = memory.options.margin.value_or(default_margin(memory));
  if (memory.options.construction == "paper" || 2 * spread >= longest || unit * longest > margin * spread)
    return {};
  return Origin{"centred", mean, spread, has_short(memory, length)};
}

/// |a - b|, rounded up.
double apart(double a, double b) {
  const double computed = std::abs(a - b);  // 0 only if they are equal
  return computed > 0 ? std::nextafter(computed, std::numeric_limits<double>::infinity()) : 0;
}

/// How far an output may be from a real-valued target, rounded down.
double allowed_error(const Memory& memory) {
  const double largest = memory.Y == nullptr ? 1 : memory.Y->cwiseAbs().maxCoeff();
  return std::nextafter(
      memory.options.tolerance.value_or(memory.single() ? 1e-3 : 1e-6) * (largest > 0 ? largest : 1), 0);
}

/// Outputs of a point, each of them within an error of what it is: the largest distance to its target,
/// rounded up, and whether the point is right.
struct Judged {
  double error = kUnknown;
  bool right = false;
};
Judged judged(const Memory& memory, double allowed, Index row, const Vector& outputs, const Vector& errors) {
  Judged point;
  if (!outputs.allFinite() || !errors.allFinite()) return point;
  const auto from = [&](Index j, double target) {
    const double center = apart(outputs(j), target);
    return errors(j) > 0 ? std::nextafter(center + errors(j), kUnknown) : center;
  };
  point.error = 0;
  if (memory.Y != nullptr) {
    for (Index j = 0; j < outputs.size(); ++j)
      point.error = std::max(point.error, from(j, (*memory.Y)(row, j)));
    point.right = point.error <= allowed;
    return point;
  }
  const auto label = static_cast<Index>(memory.data.y(row));
  const auto bound = [&](Index j, double way) {  // of output j, upwards or downwards
    return errors(j) > 0 ? std::nextafter(outputs(j) + way * errors(j), way * kUnknown) : outputs(j);
  };
  double others = 0;  // the label's output is positive, too
  for (Index j = 0; j < outputs.size(); ++j) {
    point.error = std::max(point.error, from(j, j == label ? 1 : 0));
    if (j != label) others = std::max(others, bound(j, 1));
  }
  point.right = bound(label, -1) > others;
  return point;
}

/// Every point through the network, in its own arithmetic. Errors are rounded up and what is allowed is
/// rounded down: the outputs that the network computed are that close.
void verify(const Memory& memory, const Memorizer& network, Progress& progress, MemorizeResult& result) {
  const Index n = memory.data.n();
  const double allowed = allowed_error(memory);
  std::vector<Judged> points(static_cast<std::size_t>(n));
  const Vector none = Vector::Zero(network.outputs());
  each_output(network, memory.data.X, progress, [&](Index first, const Eigen::Ref<const Matrix>& outputs) {
    for (Index i = 0; i < outputs.rows(); ++i)
      points[static_cast<std::size_t>(first + i)] =
          judged(memory, allowed, first + i, outputs.row(i).transpose(), none);
  });
  result.correct = 0;
  result.max_error = std::ranges::max(points, {}, &Judged::error).error;
  for (Index i = 0; i < n; ++i)
    if (points[static_cast<std::size_t>(i)].right)
      ++result.correct;
    else if (result.wrong.size() < kWrongShown)
      result.wrong.push_back(sample(memory.data, i));
}

/// The same with all errors counted: what is right however the network is evaluated.
void prove(const Memory& memory, const Construction& built, Progress& progress, MemorizeResult& result) {
  const Memorizer& network = built.network;
  const double allowed = allowed_error(memory);
  std::atomic<Index> exact = 0, own = 0;
  Vector error(memory.data.n());
  std::optional<ExactNetwork> near;
  if (memory.Y != nullptr) near.emplace(network, memory.data.X, *memory.Y, built.points, built.neurons);
  each_ball(network, memory.data.X, memory.columns, progress, [&](const OutputBalls& balls) {
    for (Index i = 0; i < balls.centers.rows(); ++i) {
      const auto point = [&](Execution e) {
        return judged(memory, allowed, balls.first + i, balls.centers.row(i).transpose(),
                      balls.errors[e].row(i).transpose());
      };
      const Judged real = point(kExact);
      error(balls.first + i) = real.error;
      if (real.right) ++exact;
      if (point(kOwn).right) ++own;
    }
    if (near) near->take(balls);
  });
  result.proved_exact = exact, result.proved_any_order = own;
  result.proved_error = error.maxCoeff();
  if (near) result.exact_within = near->distance();
}

std::string short_count(Index count) {
  const auto x = static_cast<double>(count);
  return x >= 1e6 ? decimal(x / 1e6, 3) + " M" : x >= 1e4 ? decimal(x / 1e3, 3) + " k" : with_commas(count);
}

/// By what a network is known to be right.
std::string how_known(const MemorizeResult& r, const Memory& memory) {
  const std::string& precision = memory.options.precision;
  if (memory.Y != nullptr)  // errors that were computed and those that are proved are two things
    return fmt::format("checked by a forward pass in {}{}{}", precision,
                       r.proved_exact == r.n ? fmt::format("; to within {} in exact arithmetic, proved",
                                                           decimal(r.proved_error, 2, Rounding::up))
                                             : "",
                       r.network && r.exact_within < r.network->V.norm()
                           ? fmt::format("; with V within {} of that of an exact network, proved",
                                         decimal(r.exact_within, 2, Rounding::up))
                           : "");
  if (r.proved_exact == r.n && r.proved_any_order == r.n)
    return fmt::format("proved in exact arithmetic and in {}, sums in any order", precision);
  std::string known = fmt::format("checked by a forward pass in {}", precision);
  if (r.proved_exact > 0)
    known += fmt::format("; proved in exact arithmetic for {}, in {} with sums in any order for {}",
                         with_commas(r.proved_exact), precision, with_commas(r.proved_any_order));
  return known;
}

/// The answer in a sentence; `failure` says why there is no network, or is empty.
std::string conclude(const MemorizeResult& r, const Memory& memory, const std::string& failure) {
  const std::string& precision = memory.options.precision;
  if (r.status == MemorizeStatus::memorized)
    return fmt::format(
        "{} memorised{} by {} residual block{} of width {} ({} parameters), {}{}",
        r.n == 1 ? "the point is" : fmt::format("every one of {} points is", with_commas(r.n)),
        memory.Y == nullptr ? "" : " to within " + decimal(r.max_error, 2, Rounding::up),
        with_commas(r.blocks), r.blocks == 1 ? "" : "s", r.hidden, short_count(r.parameters),
        how_known(r, memory),
        memory.Y == nullptr && r.max_error > 0.5
            ? fmt::format(" (the label's output is the largest, but outputs are off by up to {})",
                          decimal(r.max_error, 2, Rounding::up))
            : "");
  const char* advice =
      memory.single() && memory.options.construction != "paper" ? "; try precision float64" : "";
  if (!failure.empty()) return fmt::format("not memorised: {}{}", failure, advice);
  if (r.status == MemorizeStatus::not_separated)
    return fmt::format("not memorised: {} leave a margin of {} in {} with width {}, {} is asked for{}",
                       names(r.closest), decimal(r.min_margin, 2, Rounding::down), precision, r.hidden,
                       r.margin, advice);
  return fmt::format(
      "not memorised: {} of {} points are wrong by a forward pass in {} with width {}, "
      "outputs are off by up to {}; {} leave a margin of {}{}",
      with_commas(r.n - r.correct), with_commas(r.n), precision, r.hidden,
      decimal(r.max_error, 2, Rounding::up), names(r.closest), decimal(r.min_margin, 2, Rounding::down),
      advice);
}

Index nonzero_of(const Memorizer& network) {
  Index count = 0;
  fields(network, [&](const Field&, const auto& value) {
    if constexpr (requires { value.reshaped(); }) count += (value.array() != 0).count();
  });
  return count;
}

/// Builds and verifies one network; whether the network is what was asked for.
bool attempt(const Memory& memory, const Origin& origin, Index hidden, Progress& progress,
             MemorizeResult& result) {
  const auto began = Clock::now();
  Construction built = construct(memory, origin, hidden, progress);
  result.build_s += seconds_since(began);
  result.n_distinct = built.n_distinct;
  result.hidden = hidden;
  result.blocks = built.network.blocks();
  result.parameters = built.network.parameters();
  result.nonzero = nonzero_of(built.network);
  result.min_margin = built.min_margin;
  result.closest = std::move(built.closest);
  result.block_margins.clear();
  result.correct = 0;
  result.max_error = std::numeric_limits<double>::infinity();
  result.proved_exact = result.proved_any_order = 0;
  result.exact_within = kUnknown;
  result.proved_error = std::numeric_limits<double>::infinity();
  result.wrong.clear();
  result.network.reset();
  result.tried.push_back({hidden, origin.name, built.min_margin, -1});
  result.status = MemorizeStatus::not_separated;
  if (built.failure.empty() && built.min_margin >= result.margin) {
    const auto verifying = Clock::now();
    verify(memory, built.network, progress, result);
    if (result.correct == result.n) prove(memory, built, progress, result);
    result.verify_s += seconds_since(verifying);
    result.network = std::move(built.network);
    result.block_margins = std::move(built.block_margins);
    result.tried.back().correct = result.correct;
    result.status = result.correct == result.n ? MemorizeStatus::memorized : MemorizeStatus::not_verified;
  }
  result.conclusion = conclude(result, memory, built.failure);
  return result.status == MemorizeStatus::memorized;
}

/// The network of integers and its proof, which is a forward pass.
void build_integers(const Memory& memory, Progress& progress, MemorizeResult& result) {
  const auto began = Clock::now();
  Construction built = construct_integers(memory, progress);
  result.build_s = seconds_since(began);
  result.n_distinct = built.n_distinct;
  result.status = MemorizeStatus::not_separated;
  result.max_error = std::numeric_limits<double>::infinity();
  if (built.failure.empty()) {
    const auto verifying = Clock::now();
    const Memorizer& network = built.network;
    result.hidden = network.hidden();
    result.blocks = network.blocks();
    result.parameters = network.parameters();
    result.nonzero = nonzero_of(network);
    verify(memory, network, progress, result);
    if (const auto Y = exact_outputs(network, memory.data.X, progress)) {
      const Vector none = Vector::Zero(network.outputs());
      result.proved_error = 0;
      for (Index i = 0; i < result.n; ++i) {
        const Judged point = judged(memory, 0, i, Y->row(i).transpose(), none);
        result.proved_exact += point.right ? 1 : 0;
        result.proved_error = std::max(result.proved_error, point.error);
      }
      result.proved_any_order = result.proved_exact;
    }
    result.verify_s = seconds_since(verifying);
    result.status = result.correct == result.n ? MemorizeStatus::memorized : MemorizeStatus::not_verified;
    result.tried.push_back({result.hidden, "integers", 0, result.correct});
    result.network = std::move(built.network);
  }
  result.conclusion = conclude(result, memory, built.failure);
}

/// No network kept the margin that is usual: those that came nearest to it, and verification alone decides.
void settle(const Memory& memory, const std::vector<Origin>& places, Progress& progress,
            MemorizeResult& result) {
  constexpr std::size_t kMost = 6;
  std::vector<MemorizeAttempt> nearest;
  for (const MemorizeAttempt& tried : result.tried)
    if (tried.correct < 0 && tried.min_margin > 0) nearest.push_back(tried);
  std::ranges::stable_sort(nearest, std::greater{}, &MemorizeAttempt::min_margin);
  nearest.resize(std::min(nearest.size(), kMost));
  if (nearest.empty()) return;
  MemorizeResult before = result;
  result.margin = 0;
  for (const MemorizeAttempt& tried : nearest)
    if (attempt(memory, *std::ranges::find(places, tried.first_layer, &Origin::name), tried.hidden, progress,
                result))
      return;
  before.tried = std::move(result.tried);
  before.build_s = result.build_s, before.verify_s = result.verify_s;
  result = std::move(before);
}

/// Of the columns; the constant and what is subtracted are found by the search for a first layer.
Vector scales(const Dataset& data, const MemorizeOptions& options) {
  const Vector& scale = data.standardization.scale;
  if (options.construction != "paper") return scale.size() > 0 ? scale : Vector::Ones(data.d());
  if (!data.standardization.empty() && !data.standardization.automatic)
    throw std::invalid_argument(
        "memorize: construction paper takes points as they are: leave out `standardize` and `bias`");
  return Vector::Ones(data.d());
}

MemorizeResult memorize(const Dataset& data, const Matrix* Y, const MemorizeOptions& options,
                        Progress& progress) {
  const auto start = Clock::now();
  Memory memory{data, Y, options, scales(data, options), Y == nullptr ? data.classes() : Y->cols()};
  if (Y != nullptr) memory.largest_target = lengths(*Y).maxCoeff();
  if (memory.single()) memory.columns = columns_of(data.X);
  if (memory.single() && options.construction != "paper")
    memory.exact = exact_weights(memory.columns, memory.scale);
  require_in_range(data, options.precision, memory.largest_target, "targets");
  MemorizeResult result;
  result.n = data.n(), result.d = data.d(), result.r = memory.r;
  const auto n = static_cast<double>(result.n), r = static_cast<double>(result.r);
  result.theorem_parameters = n * std::log(n) + r * r;
  result.margin = options.margin.value_or(options.hidden ? 0 : default_margin(memory));
  Index narrowest = options.hidden.value_or(2);
  while (!options.hidden && Y != nullptr && narrowest < memory.r) narrowest *= 2;
  const Index widest = options.hidden ? narrowest : std::max(narrowest, kWidest);
  if (options.construction == "integer") {
    result.margin = 0;
    build_integers(memory, progress, result);
    progress.finish();
    result.seconds = seconds_since(start);
    return result;
  }
  const auto reached_from = [&](const Origin& origin) {
    for (Index hidden = narrowest; hidden <= widest; hidden *= 2)
      if (attempt(memory, origin, hidden, progress, result)) return true;
    return false;
  };
  const auto began = Clock::now();
  std::vector<Origin> places = origins(memory);
  result.build_s = seconds_since(began);
  bool reached = std::ranges::any_of(places, reached_from);
  if (!reached)
    if (const auto mean = centre(memory, places.front().longest)) {
      places.push_back(*mean);
      reached = reached_from(*mean);
    }
  if (!reached && result.margin > 0 && !options.margin) settle(memory, places, progress, result);
  progress.finish();
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace

std::string name(MemorizeStatus status) {
  constexpr std::array names{"memorized", "not_separated", "not_verified"};
  return names[static_cast<std::size_t>(status)];
}

MemorizeResult memorize(const Dataset& data, const MemorizeOptions& options, Progress& progress) {
  require_targets(data, "memorize");
  const bool classes = data.task == Task::classification;
  check(options, classes, classes ? data.classes() : 1);
  check_dataset(data);
  const Matrix Y = data.y;
  return memorize(data, classes ? nullptr : &Y, options, progress);
}

MemorizeResult memorize(const Dataset& data, const Matrix& Y, const MemorizeOptions& options,
                        Progress& progress) {
  check(options, false, Y.cols());
  check_dataset(data);
  if (Y.rows() != data.n() || Y.cols() < 1 || !Y.allFinite())
    throw DataError(fmt::format("{}: targets are {} x {}; expected {} rows of at least one finite number",
                                data.name, Y.rows(), Y.cols(), data.n()));
  return memorize(data, &Y, options, progress);
}

MemorizeResult memorize(const Dataset& data, const MemorizeOptions& options) {
  Progress silent;
  return memorize(data, options, silent);
}

}  // namespace zeroloss
