#include "zeroloss/audit/influence.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <stdexcept>

#include "audit/kernel_ridge_setup.hpp"
#include "audit/strongest.hpp"
#include "base/clock.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kPointsAtOnce = 256;

/// Which output counts for a test point, and which one against it (-1: none).
struct Counted {
  Index plus = 0, minus = -1, winner = 0;
};
Counted counted(const Dataset& train, const Dataset& test, const Eigen::RowVectorXd& f, Index i) {
  if (train.task == Task::regression) return {};
  Counted c;
  f.maxCoeff(&c.winner);
  c.plus = test.task == Task::none ? c.winner : static_cast<Index>(test.y(i));
  for (Index k = 0; k < f.size(); ++k)
    if (k != c.plus && (c.minus < 0 || f(k) > f(c.minus))) c.minus = k;
  return c;
}

class Explainer {
 public:
  Explainer(const Dataset& train, const Dataset& test, const InfluenceOptions& options, const Group& group,
            Progress& progress)
      : train_(train),
        test_(test),
        options_(options),
        targets_(train),
        prepared_(train, targets_.centred(), options.predictor, group, progress),
        points_(prepared_.inputs(test, progress)),
        left_out_(prepared_.predictor().left_out()) {}

  InfluenceResult run(Progress& progress) {
    InfluenceResult r;
    r.task = train_.task;
    r.n = train_.n();
    r.n_test = test_.n();
    r.d = train_.d();
    prepared_.tell(r);
    values_ = Vector::Zero(r.n);
    progress.stage("influences", static_cast<double>(r.n_test));
    for (Index begin = 0; begin < r.n_test; begin += kPointsAtOnce) {
      const Index end = std::min(r.n_test, begin + kPointsAtOnce);
      block(begin, end, r);
      progress.advance(static_cast<double>(end - begin));
    }
    progress.finish();
    values_ /= static_cast<double>(r.n_test);
    r.values.assign(values_.begin(), values_.end());
    r.best = strongest(train_, values_, 1, options_.top);
    r.worst = strongest(train_, values_, -1, options_.top);
    if (test_.task != Task::none)
      r.error = train_.task == Task::classification ? wrong_ / static_cast<double>(r.n_test)
                                                    : std::sqrt(squares_ / static_cast<double>(r.n_test));
    r.conclusion = conclusion(r);
    return r;
  }

 private:
  void block(Index begin, Index end, InfluenceResult& r) {
    const Features points = prepared_.similarity().features(points_.rows(begin, end));
    const Predictor& predictor = prepared_.predictor();
    const Matrix F = targets_.restored(predictor.predict(points));
    const Matrix h = predictor.weights(points);  // n x t
    for (Index k = 0; k < end - begin; ++k) {
      const Index i = begin + k;
      const Counted c = counted(train_, test_, F.row(k), i);
      const Vector without =
          c.minus < 0 ? Vector(left_out_.col(0)) : Vector(left_out_.col(c.plus) - left_out_.col(c.minus));
      const Vector influence = h.col(k).cwiseProduct(without) * targets_.unit();
      Explained e{sample(test_, i), predicted(F, k, c), c.minus < 0 ? F(k, 0) : F(k, c.plus) - F(k, c.minus)};
      e.support = strongest(train_, influence, 1, options_.top);
      e.against = strongest(train_, influence, -1, options_.top);
      r.tests.push_back(std::move(e));
      add(i, F.row(k), influence, c);
    }
  }

  std::string predicted(const Matrix& F, Index k, const Counted& c) const {
    return train_.task == Task::regression ? fmt::format("{}", F(k, 0))
                                           : train_.class_names[static_cast<std::size_t>(c.winner)];
  }

  void add(Index i, const Eigen::RowVectorXd& f, const Vector& influence, const Counted& c) {
    if (train_.task == Task::regression && test_.task != Task::none) {
      const double unit = targets_.unit(), miss = (test_.y(i) - f(0)) / unit;
      squares_ += miss * miss;
      // (y - (f - influence))^2 - (y - f)^2: what the squared error would be more without the sample
      values_.array() += (influence.array() / unit) * (2 * miss + influence.array() / unit);
      return;
    }
    if (c.winner != c.plus) wrong_ += 1;
    values_ += influence;
  }

  std::string conclusion(const InfluenceResult& r) const {
    std::string text = fmt::format("{} predictions explained by {} training samples", with_commas(r.n_test),
                                   with_commas(r.n));
    if (r.error)
      text += r.task == Task::classification ? fmt::format("; {:.2f} % of them are wrong", 100 * *r.error)
                                             : fmt::format("; their relative error is {:.3g}", *r.error);
    if (!r.worst.empty())
      text += fmt::format(". Sample {} harms them most: {:.3g}", describe(r.worst.front().sample),
                          r.worst.front().influence);
    return text + ".";
  }

  const Dataset& train_;
  const Dataset& test_;
  const InfluenceOptions& options_;
  Targets targets_;
  KernelRidgeSetup prepared_;
  Inputs points_;    // the test points
  Matrix left_out_;  // residuals of training samples without themselves
  Vector values_;
  double wrong_ = 0, squares_ = 0;
};

}  // namespace

InfluenceResult influence(const Dataset& data, const Dataset& test, const InfluenceOptions& options,
                          Progress& progress, const Group& group) {
  const auto began = std::chrono::steady_clock::now();
  check(options.predictor, "influence");
  if (options.top < 0)
    throw std::invalid_argument(fmt::format("influence: top must be >= 0; got {}", options.top));
  check_audited(data, "influence");
  check_against(data, test, "influence");
  Explainer explainer(data, test, options, group, progress);
  InfluenceResult result = explainer.run(progress);
  result.seconds = seconds_since(began);
  return result;
}

InfluenceResult influence(const Dataset& data, const Dataset& test, const InfluenceOptions& options) {
  Progress silent;
  return influence(data, test, options, silent);
}

}  // namespace zeroloss
