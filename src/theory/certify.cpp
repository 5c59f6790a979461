#include "zeroloss/theory/certify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/choices.hpp"
#include "base/clock.hpp"
#include "linalg/decompositions.hpp"
#include "network/stored.hpp"
#include "theory/kernel_inverse.hpp"
#include "theory/theorems.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/kernel/dual.hpp"
#include "zeroloss/kernel/separation.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kProbes = 32;
constexpr double kSettled = 1e-11;  // relative accuracy of the extreme eigenvalues
constexpr std::size_t kBottleneck = 6;
constexpr Index kFactored = 30'000;  // points, at most, unless asked for: some minutes on two cores

void check(const CertifyOptions& options) {
  check_choices("certify", options);
  if (options.passes < 1)
    throw std::invalid_argument(fmt::format("certify: passes must be >= 1; got {}", options.passes));
  if (options.method == "factor" && options.passes > 1)
    throw std::invalid_argument("certify: passes are those of the tail, which method factor does without");
  if (options.network().deep() && (options.all_bounds || options.width > 0))
    throw std::invalid_argument(fmt::format(
        "certify: {} is about one hidden layer; leave it out, or take `depth=1` without residual blocks",
        options.all_bounds ? "all_bounds" : "width"));
  if (options.method == "tail" && (options.all_bounds || options.spectrum))
    throw std::invalid_argument(
        fmt::format("certify: {} needs the kernel itself, which method tail does without",
                    options.spectrum ? "spectrum" : "all_bounds"));
  const auto probability = [](double value) { return value > 0 && value < 1; };
  if (!probability(options.failure_probability))
    throw std::invalid_argument(
        fmt::format("certify: failure_probability must be in (0, 1); got {}", options.failure_probability));
  if (!probability(options.accuracy))
    throw std::invalid_argument(fmt::format("certify: accuracy must be in (0, 1); got {}", options.accuracy));
  if (!((options.width == 0 || options.width >= 1) && std::isfinite(options.width)))
    throw std::invalid_argument(
        fmt::format("certify: width must be >= 1, or 0 for none; got {}", options.width));
  if (!(options.step >= 0 && std::isfinite(options.step)))
    throw std::invalid_argument(
        fmt::format("certify: step must be > 0, or 0 for auto; got {}", options.step));
}

// All samples, of which the kernel sees the distinct points alone. Every theorem bounds ||J^T r|| from below
// by lambda, for residuals r that are equal on equal points; so n, ||X|| and ||y|| are those of all samples
// (theory 4).
struct Samples {
  double n = 0, norm_X = 0, norm_y = 0;
  Vector root;  // of how often each distinct point occurs; empty if each does once
};

// What coincides is recorded.
Samples all_samples(const UnitPoints& points, CertifyResult& result) {
  const Dataset& data = points.data;
  Samples all{static_cast<double>(data.n()), spectral_norm_bound(blocks_of(data)), 0, {}};
  if (data.task != Task::none) {
    const Matrix Y = targets(data);
    for (Index c = 0; c < Y.cols(); ++c) all.norm_y = std::max(all.norm_y, norm_above(Y.col(c)));
  }
  result.conflicts = conflicting_samples(points);
  result.nearest = nearest(points);
  for (const auto& [i, j] : points.coincide.antipodal)
    result.antipodal.push_back(sample_pair(data, {j, i, 0, true}));
  if (points.coincide.groups.empty()) return all;
  Vector count = Vector::Ones(data.n());
  for (const auto& group : points.coincide.groups) {
    count(group.front()) = static_cast<double>(group.size());
    if (labels_agree(data, group)) result.duplicates.push_back(samples(data, group));
  }
  all.root = count(points.coincide.distinct).cwiseSqrt();
  return all;
}

// dependent_pairs() of the points x of `data`.
Index dependent(const Dataset& data, const UnitPoints& unit) {
  constexpr std::size_t kLooked = 64;  // of more pairs the rows are not looked at
  auto pairs = unit.coincide.antipodal;
  std::vector<Index> rows;
  if (pairs.size() <= kLooked)
    for (auto& [i, j] : pairs) {
      rows.push_back(i);
      i = j = std::ssize(rows) - 1;
    }
  return dependent_pairs(exact_rows(data, unit.standardization, rows), unit.center, pairs);
}

// Whether every power of rho in a kernel of many layers is even, or every one odd: with those of h~.
Parity deep_parity(const Activation& phi, const Depth& depth) {
  const auto mu = hermite(phi, false).mu;
  bool any[2] = {false, false};
  for (std::size_t r = 0; r < mu.size(); ++r) any[r % 2] |= mu[r] != 0;
  if (!any[0]) return Parity::odd;
  return any[1] || depth.residual ? Parity::none : Parity::even;
}

// Of the same, why lambda_min is zero.
std::string why_deep_zero(const Dataset& data, const UnitPoints& points, const Activation& phi,
                          const Depth& depth) {
  const auto& antipodal = points.coincide.antipodal;
  if (antipodal.empty()) return "";
  const Parity parity = deep_parity(phi, depth);
  if (parity == Parity::none) return "";
  return fmt::format("samples {} and {} are antipodal, and {} is {}: their gradients are parallel",
                     sample(data, antipodal[0].first).record, sample(data, antipodal[0].second).record,
                     phi.name, parity == Parity::odd ? "odd" : "even");
}

// Why lambda_min is zero on the distinct points, or "".
std::string why_zero(const Dataset& data, const UnitPoints& points, const Activation& phi) {
  const auto& antipodal = points.coincide.antipodal;
  const Index n = std::ssize(points.coincide.distinct), d = points.data.d();
  const bool even = phi.dphi_parity == Parity::even, odd = phi.dphi_parity == Parity::odd;
  if (!antipodal.empty() && (even || odd))
    return fmt::format(
        "samples {} and {} are antipodal, and the derivative of {} is {}: their gradients are parallel",
        sample(points.data, antipodal[0].first).record, sample(points.data, antipodal[0].second).record,
        phi.name, even ? "even" : "odd");
  if (phi.dphi_parity == Parity::constant_plus_odd)
    if (const Index more = dependent(data, points); more > 0)
      return fmt::format(
          "among {} antipodal pairs, {} depend linearly on the others: so do their {} gradients",
          antipodal.size(), more, phi.name);
  const bool linear_slope = phi.tabulated && hermite(phi, true).mu == std::vector<double>{0, 1};
  if (linear_slope && n > d * (d + 1) / 2)
    return fmt::format("the quadratic kernel has rank at most d(d+1)/2 = {} < {} points", d * (d + 1) / 2, n);
  return "";
}

// Of the kernel, twice the least Lanczos basis, and the strips of the inverse.
double kernel_bytes(Index n, Index d, Index classes, const Engine& engine) {
  return engine.matrix_bytes(n, d, 2 * kLanczosSteps * (classes + kProbes) + 256);
}

std::string method_for(const CertifyOptions& options, Index n, Index d, Index classes, bool stored,
                       const Engine& engine) {
  if (stored && (options.method == "factor" || options.all_bounds || options.spectrum))
    throw std::invalid_argument(
        "certify: the kernel is formed of points in memory, and these were left in their file; take "
        "`method=tail`, or keep the points in memory");
  if (stored) return "tail";
  if (options.method != "auto") return options.method;
  if (options.all_bounds || options.spectrum) return "factor";
  const bool fits = kernel_bytes(n, d, classes, engine) <= engine.available_bytes();
  const double most = static_cast<double>(kFactored) * std::cbrt(engine.processes());
  return static_cast<double>(n) <= most && fits ? "factor" : "tail";
}

void require_kernel_memory(Index n, Index d, Index classes, const Engine& engine) {
  const double needed = kernel_bytes(n, d, classes, engine), available = engine.available_bytes();
  if (needed <= available) return;
  const auto fits = static_cast<Index>(static_cast<double>(n) * std::sqrt(available / needed)) / 1000 * 1000;
  throw ResourceError(fmt::format("the kernel of {} points needs {}{}, {} free; try `n={}`", n,
                                  format_bytes(needed), engine.processes() > 1 ? " of each process" : "",
                                  format_bytes(available), std::max<Index>(fits, 100)));
}

// How a factorisation is proved: as asked, or as suits who computes it.
Proof proof_for(const CertifyOptions& options, const Engine& engine) {
  if (options.proof == "auto") return engine.proof();
  if (options.proof == "theorem" && !engine.follows_theorem())
    throw std::invalid_argument(
        "certify: the theorem about Cholesky factorisation does not cover a device, which may invert blocks; "
        "leave out `proof`, or `device`");
  return options.proof == "theorem" ? Proof::theorem : Proof::residual;
}

// The eigenvector of lambda_min sits on the samples that hold it down.
void find_bottleneck(const Dataset& data, const Vector& eigenvector, CertifyResult& result) {
  const std::vector<Index> order = largest_entries(eigenvector, kBottleneck);
  for (const Index i : order) result.bottleneck.push_back({sample(data, i), eigenvector(i) * eigenvector(i)});
  if (order.size() < 2) return;
  const RowMatrix ends = exact_rows(data, {}, {order[0], order[1]});
  const double apart = (ends.row(0) - ends.row(1)).norm(), across = (ends.row(0) + ends.row(1)).norm();
  result.bottleneck_distance = std::min(apart, across);
  result.bottleneck_antipodal = across < apart;
}

// Points between which the kernel is 0 do not hold it down together: each would alone.
void forget_a_pair_apart(const Kernel& kernel, CertifyResult& result) {
  const double square = result.bottleneck_distance * result.bottleneck_distance / 2;
  const double rho = result.bottleneck_antipodal ? square - 1 : 1 - square;
  if (std::abs(kernel(rho)) > 1e-12 * kernel(1)) return;  // more than its rounding
  result.bottleneck_distance = 0;
  result.bottleneck_antipodal = false;
}

// lambda_min(G^{o r}), proven with two factorisations. The kernel's memory is reused.
LambdaSource power_bound(KernelMatrix& work, int r, Proof proof, Progress& progress) {
  const auto verified = lambda_min(work, power(r), proof, progress).verified;
  return {"", verified.holds ? verified.lambda_min : 0, verified.holds};
}

// K_ij times a_i a_j: the kernel of all samples, but for zero eigenvalues, where a is the root of how often
// each occurs.
void weigh(Packed<double>& K, const Vector& a) {
  for (Index j = 0; j < K.n(); ++j)
    for (Index i = j; i < K.n(); ++i) K(i, j) *= a(i) * a(j);
}

std::vector<double> numbers(const Vector& values) { return {values.data(), values.data() + values.size()}; }

Matrix shuffled(const Matrix& Y, std::uint64_t seed) {
  Random random(seed, Stream::shuffle);
  Matrix rows = Y;
  for (Index i = rows.rows() - 1; i > 0; --i)
    rows.row(i).swap(rows.row(static_cast<Index>(random.below(static_cast<std::uint64_t>(i) + 1))));
  return rows;
}

// Initial outputs of the infinitely wide network, n x kProbes: normal with covariance F, as F^(1/2) Z, taken
// in the Krylov space of F and Z: Q (Q^T F Q)^(1/2) Q^T Z. A few steps have all that is large of F; what they
// leave out of F^(1/2) Z is far below the targets.
Matrix deep_probes(KernelMatrix& work, const Kernel& features, std::uint64_t seed, Progress& progress) {
  constexpr Index kSteps = 8;
  work.form(features, 0, progress);
  progress.stage("outputs at infinite width");
  const Operator multiply = multiply_by(work, progress);
  const Index n = work.n();
  Matrix Z(n, kProbes), Q(n, 0), FQ(n, 0);
  Random(seed, Stream::probes).fill_normal(Z);
  Matrix next = Z;
  for (Index step = 0; step < kSteps; ++step) {
    for (int twice = 0; twice < 2; ++twice) next -= Q * (Q.transpose() * next);
    const Index before = Q.cols();
    Q.conservativeResize(Eigen::NoChange, before + kProbes);
    FQ.conservativeResize(Eigen::NoChange, before + kProbes);
    Q.rightCols(kProbes) = Qr(next).Q(kProbes);
    next = multiply(Q.rightCols(kProbes));
    FQ.rightCols(kProbes) = next;
  }
  const Matrix T = Q.transpose() * FQ;
  const auto [values, V] = symmetric_eigen(T);
  const Vector roots = values.cwiseMax(0.0).cwiseSqrt();
  return Q * (V * (roots.asDiagonal() * (V.transpose() * (Q.transpose() * Z))));
}

// What certify knows before it looks at a kernel, and where it does so.
struct Question {
  const Dataset& points;
  const Samples& all;
  const Activation& phi;
  const Kernel& kernel;
  const CertifyOptions& options;
  bool vanishes;  // lambda_min is zero
  bool hopeless;  // or that of all samples is, some of which are equal
  Proof proof;
};

// Eigenvalues and eigenvectors of the kernel of all samples, n x n here, and what the labels have of them.
// The kernel that is factored lies elsewhere (packed, in tiles, on a device or on several machines): to form
// it again here is a fiftieth of the work, and no other place has to hand its own out.
SpectralMeasure every_eigenvalue(const Question& q, const Kernel& features, const Matrix& weighed_Y,
                                 Progress& progress) {
  auto kernel = gram(q.points.X, q.kernel, progress), outputs = gram(q.points.X, features, progress);
  if (q.all.root.size() > 0) {
    weigh(kernel.K, q.all.root);
    weigh(outputs.K, q.all.root);
  }
  progress.stage("all eigenvalues");
  return spectral_measure(kernel.K, outputs.K, weighed_Y);
}

// The kernel once built: extreme eigenvalues, forecast, complexity, leave-one-out. Training curves are those
// of all samples, the rest is about the distinct points. Returns what is proved of lambda_min, where float32
// said where the proof is tried.
std::optional<VerifiedBound> study_kernel(KernelMatrix& work, const Question& q, Progress& progress,
                                          CertifyResult& result) {
  const Dataset& data = q.points;
  const CertifyOptions& options = q.options;
  const Index n = data.n();
  const bool labelled = data.task != Task::none && result.conflicts.empty();
  const bool exact = n <= kEveryEigenvalue;
  const Matrix Y = labelled ? targets(data) : Matrix(n, 0);
  const Depth depth = options.network();
  const Kernel features = depth.deep() ? deep_features(q.phi, depth) : sigma_features(q.phi);
  const double trace_features = q.all.n * features(1);
  const bool repeated = q.all.root.size() > 0;
  const Vector root = repeated ? q.all.root : Vector::Ones(n);
  SpectralMeasure early;
  Matrix start, drawn;  // initial outputs, of many layers, while their covariance has the kernel's memory

  if (depth.deep() && data.task != Task::none && !exact)
    drawn = deep_probes(work, features, options.seed, progress);
  work.form(q.kernel, 0, progress);
  for (const auto& pair : work.seen().closest) result.closest.push_back(sample_pair(data, pair));
  result.separation = work.seen().separation;
  result.near_pairs = work.seen().near_pairs;
  const Operator multiply = multiply_by(work, progress);
  const Operator multiply_all = weighed(multiply, q.all.root);
  if (labelled && exact) {
    early = every_eigenvalue(q, features, root.asDiagonal() * Y, progress);
    result.lambda_max = early.values.tail(1).value();
    if (options.spectrum) result.spectrum = numbers(early.values);
  } else {
    if (labelled) {
      const Matrix probes = depth.deep() ? drawn : output_probes(data.X, q.phi, kProbes, options.seed);
      start.resize(n, Y.cols() + kProbes);
      start << root.asDiagonal() * Y, root.asDiagonal() * probes;
      progress.stage("large eigenvalues");
      const auto lanczos = block_lanczos(multiply_all, start, kLanczosSteps, 2 * kLanczosSteps, kSettled);
      early = spectral_measure(lanczos, Y.cols());
      result.lambda_max = lanczos.values.tail(1).value();
    } else {
      progress.stage("largest eigenvalue");
      result.lambda_max =
          block_lanczos(multiply_all, random_block(n), 1, 200, kSettled).values.tail(1).value();
    }
    if (options.spectrum) {
      progress.stage("all eigenvalues");
      if (repeated) {
        auto kernel = gram(data.X, q.kernel, progress);
        weigh(kernel.K, root);
        result.spectrum = numbers(eigenvalues(kernel.K));
      } else {
        result.spectrum = numbers(work.eigenvalues());
      }
    }
  }

  if (!labelled && !q.hopeless && work.single() != nullptr) {
    const LambdaMin found = lambda_min(work, q.kernel, q.proof, progress);
    result.ridge = found.ridge;
    result.lambda_min = found.lowest.value;
    find_bottleneck(data, found.lowest.vector, result);
    forget_a_pair_apart(q.kernel, result);
    return found.verified;
  }
  Matrix both(n, 2 * Y.cols());
  if (labelled) both << Y, shuffled(Y, options.seed);
  const bool three_digits = !q.hopeless && data.task == Task::classification;
  const KernelInverse inverse =
      kernel_inverse(work, {q.kernel, q.proof, q.all.root, start, Y.cols(), both, three_digits}, progress);
  result.ridge = inverse.ridge;
  result.lambda_min = inverse.lowest.value;
  find_bottleneck(data, inverse.lowest.vector, result);
  forget_a_pair_apart(q.kernel, result);
  if (!labelled) return inverse.verified;
  result.forecast =
      forecast(early, exact ? early : inverse.late, Y.cols(), trace_features, options.step, options.accuracy);
  result.forecast->method = exact ? "eigendecomposition" : fmt::format("Lanczos, {} probes", kProbes);
  if (!depth.deep()) {
    const Vector complexities = complexity(both, inverse.solved);
    result.complexity = numbers(complexities.head(Y.cols()));
    result.complexity_shuffled = numbers(complexities.tail(Y.cols()));
  }
  auto verdict = judge_labels(data, Y, leave_one_out(Y, inverse.solved.leftCols(Y.cols()), inverse.diagonal),
                              inverse.diagonal);
  result.leave_one_out_error = verdict.error;
  result.suspects = std::move(verdict.suspects);
  return inverse.verified;
}

// Bounds of what the theorems' lambdas are made of, and more of them.
struct LambdaBounds {
  PointBounds points;
  std::vector<LambdaSource> more;
};

// That of lambda_min itself, and delta: what every method has.
PointBounds found_bounds(const CertifyResult& result, bool vanishes) {
  const bool conflict = !result.conflicts.empty();
  PointBounds bounds;
  bounds.separation = conflict || vanishes ? 0 : result.separation;
  const bool proven = result.lambda_min_verified.has_value();
  const bool unknown = vanishes || result.tail;
  const double lambda = proven    ? *result.lambda_min_verified
                        : unknown ? 0
                                  : std::max(0.0, result.lambda_min - result.rounding_loss);
  bounds.lambda = {conflict ? "lambda_min of equal points" : "lambda_min", conflict ? 0 : lambda, proven};
  return bounds;
}

LambdaBounds factored_bounds(KernelMatrix& work, const Question& q, Progress& progress,
                             const CertifyResult& result) {
  const auto n = static_cast<double>(q.points.n()), d = static_cast<double>(q.points.d());
  LambdaBounds bounds{found_bounds(result, q.vanishes), {}};
  if (!q.options.all_bounds) return bounds;
  // mu_r(phi')^2 lambda_min(G^{o r+1}); G^{o q} has rank at most (d + q - 1 choose q), so some vanish without
  // computing.
  const auto vanishing = [&](int power) {
    double rank = 1;
    for (int i = 0; i < power; ++i) rank *= (d + i) / (i + 1);
    return !result.conflicts.empty() || rank < n - 0.5;
  };
  const auto bound = [&](int power) {
    return vanishing(power) ? LambdaSource{"", 0, true} : power_bound(work, power, q.proof, progress);
  };
  bounds.points.product = bound(2);
  const auto mu = hermite(q.phi, true).mu;
  for (const std::size_t r : {0u, 2u, 3u})
    if (r == 0 || (r < mu.size() && mu[r] != 0))
      bounds.more.push_back(scaled(bound(static_cast<int>(r) + 1), mu[r],
                                   fmt::format("mu_{}^2 lambda_min(G^{})", r, r + 1), q.phi.tabulated));
  const auto verified = lambda_min(work, sigma_features(q.phi), q.proof, progress).verified;
  const bool holds = verified.holds && result.conflicts.empty();
  bounds.points.features =
      LambdaSource{"lambda_min(Sigma~)", holds ? verified.lambda_min : 0, verified.holds};
  return bounds;
}

GuaranteeInput input_of(const LambdaBounds& bounds, const Dataset& data, const Samples& all,
                        const Activation& phi) {
  GuaranteeInput input =
      guarantee_input(phi, all.n, static_cast<double>(data.d()), all.norm_X, bounds.points);
  input.lambdas.insert(input.lambdas.end(), bounds.more.begin(), bounds.more.end());
  input.norm_y = all.norm_y;
  input.has_labels = data.task != Task::none;
  if (input.has_labels) input.networks = data.classes() > 2 ? static_cast<double>(data.classes()) : 1;
  return input;
}

// Everything that takes the kernel: it is formed, factored and factored again for the proof.
LambdaBounds by_factor(const Question& q, Engine& engine, Progress& progress, CertifyResult& result) {
  const std::unique_ptr<KernelMatrix> work = engine.matrix(q.points.X);
  const auto proved = study_kernel(*work, q, progress, result);
  const double tried = q.hopeless ? 0 : result.lambda_min;
  const auto verified = proved ? *proved : verify_lambda_min(*work, q.kernel, tried, q.proof, progress);
  result.rounding_loss = verified.loss;
  result.proof = name_of(q.proof);
  if (verified.holds) result.lambda_min_verified = verified.lambda_min;
  if (!q.hopeless && !(result.lambda_min > verified.loss)) result.bottleneck.clear();  // of rounding noise
  if (q.options.network().deep()) return {};
  return factored_bounds(*work, q, progress, result);
}

LambdaBounds by_tail(const Question& q, Engine& engine, Progress& progress, CertifyResult& result) {
  const Dataset& points = q.points;
  result.lambda_min = result.lambda_max = result.rounding_loss = std::numeric_limits<double>::quiet_NaN();
  result.left_out = "what lambda_min is rather than a bound of it, and lambda_max";
  if (points.task != Task::none) result.left_out += ", forecast, complexity and leave-one-out";
  const TailBound& tail = result.tail.emplace(
      tail_bound(blocks_of(points), q.phi, q.options.network(), q.options.passes, progress, engine));
  for (const auto& pair : tail.closest) result.closest.push_back(sample_pair(points, pair));
  result.separation = tail.separation;
  result.near_pairs = tail.near_pairs;
  find_bottleneck(points, tail.parts.cwiseSqrt(), result);
  if (tail.lambda_min > 0 && !q.vanishes && result.conflicts.empty())
    result.lambda_min_verified = tail.lambda_min;
  LambdaBounds bounds{found_bounds(result, q.vanishes), {}};
  bounds.points.product = LambdaSource{"", result.conflicts.empty() ? tail.product : 0, true};
  return bounds;
}

void conclude(CertifyResult& result, const std::string& vanishes, bool deep) {
  const auto held_down = [&] {
    const auto& b = result.bottleneck;
    if (b.size() < 2 || (result.bottleneck_distance == 0 && !result.bottleneck_antipodal))
      return std::string();
    constexpr double kFew = 0.2;  // of the eigenvector, for the two
    if (const double share = b[0].weight + b[1].weight; !result.tail && share < kFew)
      return fmt::format(
          "\nNo few samples hold it down: the two that do most have {:.2g} % of its eigenvector.",
          100 * share);
    return fmt::format("\n{} is held down most by samples {} and {}, {} {:.3g}.",
                       result.tail ? "This bound" : "It", describe(b[0].sample), describe(b[1].sample),
                       result.bottleneck_antipodal ? "opposite up to" : "distance",
                       result.bottleneck_distance);
  };
  const std::string least =
      result.lambda_min_verified ? decimal(*result.lambda_min_verified, 6, Rounding::down) : "";
  if (!result.conflicts.empty()) {
    result.outcome = "impossible";
    result.reason = conflict_text(result.conflicts);
    result.conclusion =
        fmt::format("No network can fit these labels on points divided by their length:\n{}{}.",
                    result.reason, more_conflicts(result.conflicts));
  } else if (!vanishes.empty()) {
    result.outcome = "zero";
    result.reason = vanishes;
    result.conclusion = fmt::format(
        "lambda_min vanishes for {}: {}.\n{}Whether these can, lambda_min does not say.",
        deep ? result.network : result.activation, vanishes,
        // Sum_i c_i phi'(w x_i) x_i = 0 for all w makes sum_i c_i phi(w x_i) a constant: of the outputs too.
        deep ? "" : "Some labels can be fitted at no width while output weights stay fixed. ");
  } else if (result.lambda_min_verified && deep) {
    result.outcome = "verified";
    result.conclusion = fmt::format(
        "Linearised, the infinitely wide {}, all of whose weights are trained, fits any labels on these "
        "{}points:\nlambda_min of its tangent kernel >= {} (verified, rounding included).\n"
        "How wide is wide enough, no theorem here says.{}",
        result.network, result.n_distinct < result.n ? fmt::format("{} distinct ", result.n_distinct) : "",
        least, held_down());
  } else if (result.lambda_min_verified) {
    result.outcome = "verified";
    result.conclusion = fmt::format(
        "Any labels on these {}points can be fitted to zero loss by a wide enough {} network:\n"
        "lambda_min >= {} (verified, rounding included).{}",
        result.n_distinct < result.n ? fmt::format("{} distinct ", result.n_distinct) : "", result.activation,
        least, held_down());
  } else if (result.tail) {
    result.outcome = "not verified";
    const std::string row = result.bottleneck.empty() ? "" : describe(result.bottleneck.front().sample);
    result.reason = fmt::format(
        "the tail of the kernel's power series from rho^{} on has {} on the diagonal and {} beside "
        "it in the row of sample {}",
        result.tail->power, decimal(result.tail->diagonal, 3, Rounding::down),
        decimal(result.tail->row_sum, 3, Rounding::up), row);
    if (result.nearest) result.reason += "; " + nearness(*result.nearest, result.d);
    result.conclusion = fmt::format("Not certified by the tail: {}.", result.reason);
  } else {
    result.outcome = "not verified";
    result.reason = fmt::format("lambda_min is computed as {:.3g}, and rounding may account for {:.3g} of it",
                                result.lambda_min, result.rounding_loss);
    if (result.nearest) result.reason += "; " + nearness(*result.nearest, result.d);
    result.conclusion = fmt::format("Not certified in double precision: {}.", result.reason);
  }
}

std::string network_in_words(const Activation& phi, const Depth& depth) {
  if (depth.residual)
    return fmt::format("residual {} network of {}", phi.name, count(depth.layers, "block", "blocks"));
  return fmt::format("{} network of {}", phi.name, count(depth.layers, "hidden layer", "hidden layers"));
}

/// Of kernel, factorisation and what is asked of it: a few dozen loops.
double work_between_waits(Index distinct, Index d) {
  const auto n = static_cast<double>(distinct);
  return (n * n * (static_cast<double>(d) + 50) + n * n * n) / 100;
}

}  // namespace

CertifyResult certify(const Dataset& data, const CertifyOptions& options, Progress& progress,
                      Engine& engine) {
  const auto began = std::chrono::steady_clock::now();
  check(options);
  const Activation& phi = activation(options.activation);
  CertifyResult result;
  result.n = data.n();
  result.d = data.d();
  result.task = data.task;
  result.class_names = data.class_names;
  result.activation = phi.name;
  const Depth depth = options.network();
  const Kernel kernel = tangent(phi, depth);
  result.kernel = kernel.name;
  result.network = network_in_words(phi, depth);

  progress.stage("preparing the points");
  UnitPoints unit = unit_points(data, options.center, options.normalize);
  result.center = unit.center;
  result.n_distinct = std::ssize(unit.coincide.distinct);
  const Index classes = std::max<Index>(data.classes(), 1);
  const Index d = unit.data.d();
  result.method = method_for(options, result.n_distinct, d, classes, data.stored != nullptr, engine);
  if (result.method == "factor") require_kernel_memory(result.n_distinct, d, classes, engine);
  result.engine = engine.name();
  const std::string vanishes =
      depth.deep() ? why_deep_zero(unit.data, unit, phi, depth) : why_zero(data, unit, phi);
  const Threads threads(work_between_waits(result.n_distinct, d));
  const Samples all = all_samples(unit, result);
  Dataset points = std::move(unit.data);
  keep(points, unit.coincide.distinct);

  const bool zero = !vanishes.empty();
  const Question question{
      points, all, phi, kernel, options, zero, zero || !result.conflicts.empty(), proof_for(options, engine)};
  const LambdaBounds bounds = result.method == "tail" ? by_tail(question, engine, progress, result)
                                                      : by_factor(question, engine, progress, result);
  if (zero) result.lambda_min = 0;
  result.norm_X = all.norm_X;
  if (depth.deep()) {
    if (result.method == "factor") result.left_out = "how wide, theorems about random weights, complexity";
  } else {
    const auto input = input_of(bounds, points, all, phi);
    result.guarantees =
        guarantees(phi, input, {options.failure_probability, options.accuracy, options.width});
  }
  conclude(result, vanishes, depth.deep());
  progress.finish();
  result.seconds = seconds_since(began);
  result.peak_bytes = static_cast<double>(peak_memory_bytes());
  return result;
}

bool certify_in_place(Index n, Index d, const CertifyOptions& options) {
  if (options.method == "factor" || options.all_bounds || options.spectrum) return false;
  constexpr double kRest = 2e8;  // tiles, threads and what does not grow with the points
  const auto points = static_cast<double>(n);
  const double bytes = points * (20 * static_cast<double>(d) + 400) + kRest;
  return bytes > static_cast<double>(available_memory_bytes());
}

CertifyResult certify(const Dataset& data, const CertifyOptions& options, Progress& progress) {
  return certify(data, options, progress, this_process());
}

CertifyResult certify(const Dataset& data, const CertifyOptions& options) {
  Progress silent;
  return certify(data, options, silent);
}

}  // namespace zeroloss
