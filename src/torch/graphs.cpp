#include "zeroloss/torch/graphs.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "graph/steps.hpp"
#include "linalg/rounding.hpp"
#include "torch/device.hpp"
#include "torch/guarded.hpp"
#include "torch/probe.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/graph/network.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.
//
// Values are size x samples, so that what windows see is picked by whole rows and a convolution is one
// product. The bounds are those of src/graph (README there) in real arithmetic; sums of k terms are within
// gamma_k of the sum of sizes in any order, and kUp covers the roundings of the bounds themselves.

namespace zeroloss {
using namespace internal;
namespace {

using graph::Step;
using torch::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastRoot = 2e-154;  // squares of smaller numbers may vanish

double number_of(Index value) { return static_cast<double>(value); }

Tensor device_copy(const double* values, Index rows, Index columns, const torch::Device& device) {
  return torch::from_blob(const_cast<double*>(values), {rows, columns}, torch::kDouble)
      .to(device, torch::kDouble, /*non_blocking=*/false, /*copy=*/true);
}

/// Numbers of many samples: each is within e of h, and the numbers of a sample together within eps in the
/// 2-norm.
struct Balls {
  Tensor h, e;  // size x samples; e undefined where h is exact
  Tensor eps;   // samples
};

/// Lengths of columns, rounded up.
Tensor lengths(const Tensor& x) {
  return (x.square().sum(0).sqrt_() * kUp).add_(kLeastRoot * std::sqrt(number_of(x.size(0))));
}

/// The largest size of each column.
Tensor largest(const Tensor& x) { return x.abs().amax(0); }

/// Places on the device: those that are -1 are `size`, a row that is put behind.
struct Picked {
  Tensor places;
  bool filled = false;  // some are -1
  double overlap = 0;   // of how many places a number is, at most

  Picked() = default;
  Picked(const std::vector<Index>& from, Index size, const torch::Device& device) {
    std::vector<std::int64_t> all(from.begin(), from.end());
    std::vector<Index> seen(static_cast<std::size_t>(size), 0);
    for (std::int64_t& place : all) {
      if (place >= 0)
        overlap = std::max(overlap, number_of(++seen[static_cast<std::size_t>(place)]));
      else
        place = size, filled = true;
    }
    places = torch::from_blob(all.data(), {std::ssize(all)}, torch::kLong)
                 .to(device, torch::kLong, /*non_blocking=*/false, /*copy=*/true);
  }
  Tensor of(const Tensor& x, double fill = 0) const {
    if (!filled) return x.index_select(0, places);
    return at::cat({x, torch::full({1, x.size(1)}, fill, x.options())}).index_select(0, places);
  }
};

/// A linear map, W H + b of what its places see.
struct Map {
  Tensor W, size;                // groups x m x k, and |W|
  Tensor b;                      // groups x m x 1
  Tensor row_length, row_sum;    // of |W|, likewise
  std::optional<Picked> places;  // all numbers in their order where there are none
  Index k = 0, m = 0, groups = 1, p = 1;
  double norm = 0;  // of all of it as a map of samples
  double frobenius = 0, b_length = 0, sum = 0;
};

class Evaluator {
 public:
  Evaluator(const std::vector<Step>& steps, Index d, const torch::Device& device)
      : steps_(steps), d_(d), device_(device), maps_(steps.size()), picked_(steps.size()) {
    last_.assign(steps.size() + 1, -1);  // of the point first
    for (Index s = 0; s < std::ssize(steps); ++s) {
      const Step& step = steps[static_cast<std::size_t>(s)];
      if (step.op != Step::Op::constant && step.op != Step::Op::take) used(s - 1, s);
      if (takes_other(step.op)) used(step.step, s);
    }
    used(std::ssize(steps) - 1, std::ssize(steps));
    const auto numbers = [&](Index s) {
      return 2 * number_of(s < 0 ? d : steps[static_cast<std::size_t>(s)].size);
    };
    double there = numbers(-1);
    for (Index s = 0; s < std::ssize(steps); ++s) {
      const Step& step = steps[static_cast<std::size_t>(s)];
      // What windows see, its sizes and its errors beside all that is there.
      const double seen = 4 * number_of(std::max<Index>(std::ssize(step.places), step.size));
      most_ = std::max(most_, there + seen + 6 * number_of(step.size));
      there += numbers(s);
      for (Index old = -1; old < s; ++old)
        if (last_[static_cast<std::size_t>(old + 1)] == s) there -= numbers(old);
    }
  }

  /// Numbers of a sample that are there together, at most.
  double most() const { return most_; }

  /// For blocks of so many samples: maps are prepared, and products of their shapes probed.
  void prepare(Index samples, Progress& progress) {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      progress.check();
      const Step& step = steps_[s];
      if (step.op == Step::Op::affine || step.op == Step::Op::columns)
        prepare_map(s, samples);
      else if (!step.places.empty())
        picked_[s] = Picked(step.places, size_before(s), device_);
    }
  }

  /// X: samples x d.
  Balls operator()(const RowMatrix& X, Progress& progress) {
    std::vector<Balls> values(steps_.size() + 1);
    values[0] = exact(device_copy(X.data(), X.rows(), X.cols(), device_).t().contiguous());
    for (Index s = 0; s < std::ssize(steps_); ++s) {
      progress.check();
      const auto at = [&](Index step) -> const Balls& { return values[static_cast<std::size_t>(step + 1)]; };
      const Step& step = steps_[static_cast<std::size_t>(s)];
      const bool other = takes_other(step.op);
      values[static_cast<std::size_t>(s + 1)] = take(s, at(s - 1), other ? at(step.step) : at(s - 1));
      for (const Index old : {s - 1, other ? step.step : s - 1})
        if (last_[static_cast<std::size_t>(old + 1)] <= s) values[static_cast<std::size_t>(old + 1)] = {};
    }
    return values.back();
  }

 private:
  static bool takes_other(Step::Op op) {
    switch (op) {
      case Step::Op::take:
      case Step::Op::join:
      case Step::Op::add:
      case Step::Op::times:
      case Step::Op::over:
      case Step::Op::product:
        return true;
      default:
        return false;
    }
  }
  void used(Index value, Index by) {
    Index& last = last_[static_cast<std::size_t>(value + 1)];
    last = std::max(last, by);
  }
  Index size_before(std::size_t s) const { return s == 0 ? d_ : steps_[s - 1].size; }

  [[noreturn]] static void refuse(const std::string& what) {
    throw DataError(fmt::format("{} is not evaluated on a device: leave out `device`", what));
  }

  Balls exact(const Tensor& h) const { return {h, {}, torch::zeros({h.size(1)}, h.options())}; }
  static Tensor errors(const Balls& x) { return x.e.defined() ? x.e : at::zeros_like(x.h); }

  // The smaller of what is known in the 2-norm: of the entries, and `known`.
  static Balls settled(const Tensor& h, Tensor e, const Tensor& known) {
    e = at::where(h.isfinite(), e, kInfinity);
    const Tensor eps = at::minimum(lengths(e), known);
    return {h, at::minimum(e, eps), eps};
  }
  // Of one rounding of each number, with what came in the 2-norm.
  static Tensor rounded_once(const Tensor& came, const Tensor& h) {
    return (came + u * lengths(h)).mul_(kUp).add_(kTiny * std::sqrt(number_of(h.size(0))));
  }

  void prepare_map(std::size_t s, Index samples) {
    const Step& step = steps_[s];
    Map& map = maps_[s];
    map.groups = step.op == Step::Op::columns ? step.groups : 1;
    map.p = step.op == Step::Op::columns ? step.columns / map.groups : 1;
    map.m = step.W.rows() / map.groups;
    map.k = step.W.cols();
    if (step.op == Step::Op::columns) map.places = Picked(step.places, size_before(s), device_);
    map.W =
        device_copy(step.W.data(), step.W.rows(), step.W.cols(), device_).view({map.groups, map.m, map.k});
    map.size = map.W.abs();
    const Vector b = step.b.size() > 0 ? step.b : Vector::Zero(step.W.rows());
    map.b = device_copy(b.data(), b.size(), 1, device_).view({map.groups, map.m, 1});
    map.row_length = (map.W.square().sum(2, true).sqrt_() * kUp) + kLeastRoot * std::sqrt(number_of(map.k));
    map.row_sum = map.size.sum(2, true) * kUp;
    const double all = lengths(map.row_length.reshape({-1, 1})).item<double>();
    map.frobenius = all;
    map.b_length = lengths(map.b.reshape({-1, 1})).item<double>();
    map.sum = map.row_sum.sum().item<double>() * kUp;
    const double overlap = map.places ? map.places->overlap : 1;
    map.norm = step.norm >= 0 && std::isfinite(step.norm) ? step.norm : std::sqrt(overlap) * all * kUp;
    check_batched_products(device_, map.groups, map.m, map.k, map.p * samples);
  }

  Balls take(Index s, const Balls& x, const Balls& y) {
    const Step& step = steps_[static_cast<std::size_t>(s)];
    const Picked& picked = picked_[static_cast<std::size_t>(s)];
    switch (step.op) {
      case Step::Op::constant:
        return exact(device_copy(step.b.data(), step.b.size(), 1, device_).expand({step.size, x.h.size(1)}));
      case Step::Op::take:
        return y;
      case Step::Op::pick:
        return pick(picked, x);
      case Step::Op::join:
        return {at::cat({x.h, y.h}),
                x.e.defined() || y.e.defined() ? at::cat({errors(x), errors(y)}) : Tensor(),
                at::hypot(x.eps, y.eps) * kUp};
      case Step::Op::affine:
      case Step::Op::columns:
        return linear(maps_[static_cast<std::size_t>(s)], x);
      case Step::Op::largest:
        return largest_of(picked, x, step.columns);
      case Step::Op::total:
        return total(picked, x, step.columns);
      case Step::Op::add:
        return add(x, y);
      case Step::Op::times:
        return times(x, y);
      case Step::Op::over:
        return over(x, y);
      case Step::Op::scale:
        return scale(x, step.by);
      case Step::Op::activation:
        if (step.name == "relu" || (step.name == "leaky_relu" && step.by == 0)) return relu(x);
        if (step.name == "leaky_relu") return leaky_relu(x, step.by);
        refuse(step.name);
      case Step::Op::function:
        if (step.name == "sqrt") return root(x);
        refuse(step.name);
      case Step::Op::product:
        refuse("a product of two values of a sample");
    }
    refuse("a step");
  }

  static Balls pick(const Picked& picked, const Balls& x) {
    return {picked.of(x.h), x.e.defined() ? picked.of(x.e) : Tensor(),
            x.eps * (std::sqrt(picked.overlap) * kUp)};
  }

  Balls linear(const Map& map, const Balls& x) const {
    const Index samples = x.h.size(1), q = map.p * samples;
    const double k = number_of(map.k), both = gamma_of(k + 1);
    // groups x k x (windows, samples)
    const auto seen = [&](const Tensor& all) {
      if (!map.places) return all.unsqueeze(0);
      return map.places->of(all).view({map.k, map.groups, q}).transpose(0, 1);
    };
    const Tensor H = seen(x.h);
    Tensor y = at::bmm(map.W, H).add_(map.b);
    Tensor sizes = H.abs();
    Tensor weight = sizes * both, sums = sizes.sum(1, true);
    Tensor length = (H.square().sum(1, true).sqrt_() * kUp).add_(kLeastRoot * std::sqrt(k));
    if (x.e.defined()) {
      const Tensor E = seen(x.e);
      weight += E;
      sums += E.sum(1, true);
    }
    const Tensor off = x.eps.expand({map.p, samples}).reshape({1, 1, q});
    Tensor e = at::minimum(at::bmm(map.size, weight), map.row_length * (off + both * length));
    e.add_(map.b.abs() * both).add_((map.row_sum + sums + (2 * k + 3)) * kTiny).add_(y.abs(), u);
    e = e.mul_(kUp).add_(kTiny);
    y = y.reshape({map.groups * map.m * map.p, samples});
    e = e.reshape({map.groups * map.m * map.p, samples});
    const double overlap = map.places ? map.places->overlap : 1, place = std::sqrt(number_of(map.p)) * kUp;
    const Tensor whole = lengths(x.h);
    const Tensor lost = (whole * place + x.eps) * std::sqrt(k) + (2 * k + 3 + map.sum);
    const Tensor known = x.eps * map.norm + whole * (std::sqrt(overlap) * both * map.frobenius) +
                         place * both * map.b_length +
                         lost * (kTiny * place * std::sqrt(number_of(map.groups * map.m)));
    return settled(y, e, rounded_once(known, y));
  }

  // The largest of numbers moves by no more than one of these does.
  static Balls largest_of(const Picked& picked, const Balls& x, Index columns) {
    const auto seen = [&](const Tensor& all, double fill) {
      return picked.of(all, fill).view({-1, columns, all.size(1)}).amax(0);
    };
    const Tensor h = seen(x.h, -kInfinity);
    if (!x.e.defined()) return {h, {}, x.eps};
    return settled(h, seen(x.e, 0), x.eps * (std::sqrt(picked.overlap) * kUp));
  }

  // Halves are added to each other: ceil(log2 k) roundings.
  static Balls total(const Picked& picked, const Balls& x, Index columns) {
    Tensor h = picked.of(x.h).view({-1, columns, x.h.size(1)});
    const double k = number_of(h.size(0));
    const Tensor sizes = h.abs().sum(0);
    double levels = 1;
    for (Index rows = h.size(0); rows > 1; rows = (rows + 1) / 2, ++levels) {
      const Index half = (rows + 1) / 2;
      Tensor sum = h.narrow(0, 0, half).clone();
      sum.narrow(0, 0, rows - half).add_(h.narrow(0, half, rows - half));
      h = sum;
    }
    h = h.squeeze(0);
    const double gamma = gamma_of(levels);
    Tensor e = sizes * gamma;
    if (x.e.defined()) e += picked.of(x.e).view({-1, columns, x.h.size(1)}).sum(0);
    const Tensor known = (x.eps + gamma * lengths(x.h)) * (std::sqrt(k * picked.overlap) * kUp);
    return settled(h, (e * kUp).add_(k * kTiny), rounded_once(known, h));
  }

  static Balls add(const Balls& x, const Balls& y) {
    const Tensor h = x.h + y.h;
    Tensor e = h.abs() * u + kTiny;
    if (!x.e.defined() && !y.e.defined()) {  // sums of small whole numbers are exact
      const Tensor part = h - x.h, lost = (x.h - (h - part)) + (y.h - part);
      e = at::where(lost.eq(0), 0.0, e);
    } else {
      e += errors(x) + errors(y);
    }
    return settled(h, e * kUp, rounded_once(x.eps + y.eps, h));
  }

  static Balls times(const Balls& x, const Balls& y) {
    const Tensor h = x.h * y.h;
    Tensor e = h.abs() * u + kTiny, known = torch::zeros_like(x.eps);
    // Where nothing is off, infinite factors do not count.
    if (x.e.defined()) e += y.h.abs() * x.e, known = known + largest(y.h) * x.eps;
    if (y.e.defined()) e += x.h.abs() * y.e, known = known + largest(x.h) * y.eps;
    if (x.e.defined() && y.e.defined()) e += x.e * y.e, known = known + largest(y.e) * x.eps;
    return settled(h, e * kUp + kTiny, rounded_once(known, h));
  }

  // x/y' - h = ((x' - x) - (x/y)(y' - y))/y'
  static Balls over(const Balls& x, const Balls& y) {
    const Tensor h = x.h / y.h;
    const Tensor room = y.e.defined() ? (y.h.abs() - y.e) * kDown : y.h.abs();
    const Tensor least = at::where(room.gt(0), room, 0.0).amin(0);
    // Quotients first: what vanishes in a product would be divided by `room` afterwards.
    Tensor came = torch::zeros_like(h), known = torch::zeros_like(x.eps);
    if (x.e.defined()) came += x.e / room + kTiny, known = known + x.eps / least;
    if (y.e.defined()) {
      came += (h.abs() + kTiny) * (y.e / room + kTiny);
      known = known + (largest(h) + kTiny) * (y.eps / least + kTiny);
    }
    const Tensor e = came * kUp + h.abs() * (2 * u) + 2 * kTiny;
    const Tensor of_all = at::where(least.gt(0), known * kUp, kInfinity);
    return settled(h, at::where(room.gt(0), e * kUp, kInfinity), rounded_once(of_all + u * lengths(h), h));
  }

  static Balls scale(const Balls& x, double by) {
    const Tensor h = x.h * by;
    int exponent = 0;
    const bool power = std::abs(std::frexp(by, &exponent)) == 0.5;
    if (by == -1) return {h, x.e, x.eps};
    Tensor e = h.abs() * (power ? 0 : u) + kTiny;
    if (x.e.defined()) e += x.e * std::abs(by);
    return settled(h, e * kUp, rounded_once(x.eps * std::abs(by), h));
  }

  static Balls relu(const Balls& x) {
    const Tensor h = x.h.clamp_min(0);
    if (!x.e.defined()) return {h, {}, x.eps};
    const Tensor above = x.h + x.e;  // how far it may be above 0
    const Tensor e =
        at::where(x.h.ge(0), x.e, at::where(above.le(0), at::zeros_like(above), above * kUp + kTiny));
    return settled(h, e, x.eps * kUp);
  }

  static Balls leaky_relu(const Balls& x, double slope) {
    const Tensor h = at::where(x.h.ge(0), x.h, x.h * slope);
    const double low = std::abs(slope), most = std::max(1.0, low);
    const Tensor came = errors(x), above = (x.h - came).ge(0);  // surely above 0, or below
    const Tensor steep = at::where((x.h + came).le(0), at::full_like(x.h, low), most);
    const Tensor e = at::where(above, came, (came * steep).add_((x.h.abs() * (u * low)).add_(kTiny)) * kUp);
    return settled(h, e, rounded_once(x.eps * most, x.h * low));
  }

  // |sqrt(a) - sqrt(b)| = |a - b|/(sqrt(a) + sqrt(b))
  static Balls root(const Balls& x) {
    const Tensor h = x.h.sqrt();
    Tensor e = h * u + kTiny;
    if (x.e.defined()) {
      const Tensor below = ((x.h - x.e) * kDown).clamp_min(0).sqrt();
      e = at::where(x.e.eq(0), e, e + x.e / ((h + below) * kDown) * kUp);
      e = at::where(x.h.ge(x.e), e, kInfinity);
    }
    return settled(h, e * kUp, torch::full_like(x.eps, kInfinity));
  }

  const std::vector<Step>& steps_;
  const Index d_;
  const torch::Device device_;
  std::vector<Map> maps_;
  std::vector<Picked> picked_;
  std::vector<Index> last_;  // the last step that takes a value; of the point first
  double most_ = 0;
};

class TorchGraphs final : public GraphEngine {
 public:
  explicit TorchGraphs(const torch::Device& device) : device_(device) {}

  std::string name() const override { return engine_name(device_); }

  GraphOutputs outputs(const std::vector<Step>& steps, const Eigen::Ref<const RowMatrix>& X,
                       Progress& progress) const override {
    const torch::NoGradGuard no_gradients;
    return guarded("prove", "take fewer samples (n)", [&] { return evaluated(steps, X, progress); });
  }

 private:
  GraphOutputs evaluated(const std::vector<Step>& steps, const Eigen::Ref<const RowMatrix>& X,
                         Progress& progress) const {
    const Index n = X.rows(), K = steps.back().size;
    GraphOutputs all;
    if (n == 0) return {Matrix(0, K), Matrix(0, K), {}};
    Evaluator evaluate(steps, X.cols(), device_);
    // A processor's caches want few samples, a GPU many.
    const double room = device_.is_cuda() ? std::min(8e9, available_bytes(device_) / 2) : 2.5e8;
    const Index most = device_.is_cuda() ? 4096 : 256;
    const auto fits = static_cast<Index>(std::min(room / (8 * evaluate.most()), number_of(most)));
    const Index together = std::clamp<Index>(fits, 1, std::min(n, most));
    require_bytes(8 * evaluate.most() * number_of(together), device_, "a sample of this graph",
                  "leave out `device`");
    progress.stage("outputs", number_of(n));
    evaluate.prepare(together, progress);
    all.f.resize(n, K);
    all.error.resize(n, K);
    for (Index row = 0; row < n; row += together) {
      const Index count = std::min(together, n - row);
      RowMatrix block(together, X.cols());  // of one shape, which was probed
      block.topRows(count) = X.middleRows(row, count);
      for (Index i = count; i < together; ++i) block.row(i) = X.row(row);
      const Balls made = evaluate(block, progress);
      const Tensor e = made.e.defined() ? made.e : at::zeros_like(made.h);
      const Tensor h = made.h.contiguous().to(torch::kCPU),
                   error = at::where(made.h.isfinite().logical_and(e.isnan().logical_not()), e, kInfinity)
                               .contiguous()
                               .to(torch::kCPU);
      const auto host = [&](const Tensor& values) {
        return Eigen::Map<const RowMatrix>(values.data_ptr<double>(), K, together)
            .leftCols(count)
            .transpose();
      };
      all.f.middleRows(row, count) = host(h);
      all.error.middleRows(row, count) = host(error);
      progress.advance(number_of(count));
    }
    return all;
  }

  const torch::Device device_;
};

}  // namespace

std::shared_ptr<const GraphEngine> torch_graphs(const std::string& device) {
  return std::make_shared<TorchGraphs>(use_device("prove", device));
}

}  // namespace zeroloss
