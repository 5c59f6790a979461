#include "train/deep/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/clock.hpp"
#include "deep/centered.hpp"
#include "network/prepare.hpp"
#include "train/deep/forecast.hpp"
#include "train/deep/optimizer.hpp"
#include "train/distributed_outputs.hpp"
#include "train/fit_options.hpp"
#include "train/optimizers/optimizers.hpp"
#include "train/run_summary.hpp"
#include "train/test_points.hpp"
#include "train/training.hpp"
#include "train/unseen.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/deep/draw.hpp"
#include "zeroloss/deep/prove.hpp"
#include "zeroloss/kernel/deep.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kUsualDeepWidth = 256;

// Hidden units of each layer: `widths`, or `width` for all.
std::vector<Index> widths_of(const FitOptions& o) {
  const Index usual = o.width > 0 ? o.width : kUsualDeepWidth;
  if (o.widths.empty()) return std::vector<Index>(static_cast<std::size_t>(o.depth), usual);
  std::vector<Index> widths;
  for (std::size_t at = 0; at <= o.widths.size();) {
    const std::size_t comma = std::min(o.widths.find(',', at), o.widths.size());
    const auto width = parsed_number(o.widths.substr(at, comma - at));
    require_fit(width && *width >= 1 && *width <= 1e6 && *width == std::floor(*width),
                fmt::format("widths must be whole numbers >= 1 with commas between; got \"{}\"", o.widths));
    widths.push_back(static_cast<Index>(*width));
    at = comma + 1;
  }
  require_fit(o.depth == 1 || o.depth == std::ssize(widths),
              fmt::format("depth is {}, but `widths` are those of {} layers: leave `depth` out", o.depth,
                          widths.size()));
  return widths;
}

// What happens to points first, in a network without layers.
DeepNetwork input_of(const Dataset& data, const TrainingSet& set) {
  DeepNetwork network{.task = data.task, .class_names = data.class_names, .encoding = data.encoding};
  const Standardization& standard = set.standardization;
  network.constant = standard.bias;
  network.unit = true;
  if (standard.scale.size() > 0) network.factor = standard.scale;
  subtract_center(network, set.center, standard.scale, data.d());
  return network;
}

// What outputs are drawn in units of: the power of two next to the root mean square of targets, so that
// numbers far from 1 are as near as those of classes; 1 where they are near it already.
double unit_of(const Matrix& Y, Task task) {
  const double size = Y.stableNorm() / std::sqrt(static_cast<double>(Y.size()));
  if (task != Task::regression || !std::isnormal(size) || (size >= 0.25 && size <= 4)) return 1;
  return std::ldexp(1.0, std::clamp(static_cast<int>(std::lround(std::log2(size))), -500, 500));
}

// All that trainings of one run share.
struct DeepRun {
  const CheckedOptions& options;
  const Dataset& data;
  const TrainingSet& set;
  DeepNetwork input;
  std::vector<Index> widths;
  Moving moving;
  RowMatrix distinct_X;  // as they were read; empty if all are distinct
  Matrix distinct_Y;
  std::vector<Index> records;
  DeepForecast forecast;
  double unit = 1;

  const RowMatrix& X() const { return distinct_X.size() > 0 ? distinct_X : data.X; }
};

DeepNetwork drawn(const DeepRun& run, Index outputs, Index index) {
  const CheckedOptions& o = run.options;
  DeepNetwork network = draw({.d = run.set.points.X.cols(),
                              .outputs = outputs,
                              .widths = run.widths,
                              .activation = o.activation,
                              .residual = o.residual,
                              .biases = false,
                              .seed = o.seed,
                              .index = static_cast<std::uint64_t>(index)});
  DeepNetwork whole = run.input;
  whole.layers = std::move(network.layers);
  whole.V = std::move(network.V);
  if (o.residual)
    whole.V *= run.unit;
  else
    whole.layers.back().scale *= run.unit;
  if (outputs == 1 && run.set.Y.cols() > 1) whole.class_names.clear(), whole.task = Task::none;
  return whole;
}

Certificate in_short(const DeepCertificate& proof) {
  Certificate c;
  c.kind = proof.descends ? "descent" : proof.exists ? "existence" : "none";
  c.holds = proof.exists;
  c.radius = proof.descends ? proof.descent_radius : proof.radius;
  if (proof.lambda_min > 0) {
    c.margin = 0.5 / proof.h * (1 - 1e-12);
    if (std::isfinite(proof.kink) && proof.kink > 0) c.margin = std::min(c.margin, proof.kink);
  }
  c.misfit = proof.misfit;
  c.lambda_min = proof.lambda_min;
  c.norm_J = proof.norm_J;
  c.step = proof.step;
  c.rate = proof.rate;
  c.reason = proof.reason;
  return c;
}

// Of outputs f (n x K) for targets Y: classes go by the largest, or by the sign of a single one.
std::optional<double> error_of(const Matrix& f, const Matrix& Y, bool classes) {
  if (!f.allFinite()) return {};
  if (!classes) return (f - Y).norm() / std::sqrt(static_cast<double>(Y.rows()));
  Index wrong = 0;
  for (Index i = 0; i < Y.rows(); ++i) {
    Index said = 0, right = 0;
    f.row(i).maxCoeff(&said), Y.row(i).maxCoeff(&right);
    wrong += Y.cols() == 1 ? (f(i, 0) >= 0) != (Y(i, 0) > 0) : said != right;
  }
  return static_cast<double>(wrong) / static_cast<double>(Y.rows());
}

// One network on its way: of all outputs, or of one of them.
class DeepTraining : public Training {
 public:
  DeepTraining(DeepRun& run, Part part, const Matrix& Y, const Matrix& distinct_Y, const Vector& y,
               const Dataset* test, const Matrix& test_Y, RunState& state, Checkpoint& checkpoint,
               Progress& progress)
      : Training(run.options, std::move(part), y, state, checkpoint, progress),
        run_(run),
        Y_(Y),
        start_(drawn(run, Y.cols(), part_.index)),
        equations_{run.X(), distinct_Y, run.set.counts, run.moving, run.records},
        test_(test),
        test_Y_(test_Y) {
    const double step = state.current ? state.current->result.step : 0;
    optimizer_ = make_deep({run.options, start_, run.data.X, Y_, equations_, run.moving,
                            static_cast<std::uint64_t>(part_.index)},
                           step, progress);
    result_.step = optimizer_->step;
    result_.theorem.reason = "no theorem covers networks of several trained layers";
    run.forecast.begin(optimizer_->f().reshaped(Y.rows(), Y.cols()) - Y, optimizer_->step);
    begin();
  }

 private:
  Optimizer& optimizer() override { return *optimizer_; }

  double step_work() const override {
    const auto n = static_cast<double>(facts_.batch ? options_.batch : Y_.rows());
    return 3 * n * static_cast<double>(parameters(start_));
  }

  double final_residual_norm() const override {
    return (predict(optimizer_->network(), run_.data.X) - Y_).norm();
  }

  void keep(OutputState& state) const override {
    state.snapshot = {{"weights", flat_weights(optimizer_->network())}};
  }

  Certificate proved(bool, Progress& progress) override {
    return in_short(certify_network(optimizer_->network(), equations_, progress));
  }

  void expect(const Certificate&) override {}

  void complete(CurvePoint& point) const override {
    if (const auto left = run_.forecast.at(static_cast<double>(point.step))) point.forecast = *left / unit_;
    if (test_ != nullptr)
      point.test_error =
          error_of(predict(optimizer_->network(), test_->X), test_Y_, test_->task == Task::classification);
  }

  DeepRun& run_;
  const Matrix& Y_;
  DeepNetwork start_;
  DeepEquations equations_;
  const Dataset* test_;
  const Matrix& test_Y_;
  std::unique_ptr<DeepOptimizer> optimizer_;
};

// Networks of one output each as one with all of them, side by side: what connects them is 0.
DeepNetwork side_by_side(const std::vector<DeepNetwork>& networks) {
  if (networks.size() == 1) return networks.front();
  const auto count = static_cast<Index>(networks.size());
  DeepNetwork all = networks.front();
  const auto diagonal = [&](const RowMatrix& like, const auto& part) {
    RowMatrix block = RowMatrix::Zero(count * like.rows(), count * like.cols());
    for (Index k = 0; k < count; ++k)
      block.block(k * like.rows(), k * like.cols(), like.rows(), like.cols()) =
          part(networks[static_cast<std::size_t>(k)]);
    return block;
  };
  for (std::size_t l = 0; l < all.layers.size(); ++l) {
    Layer& layer = all.layers[l];
    const Index rows = layer.W.rows();
    if (l == 0) {
      layer.W.resize(count * rows, layer.W.cols());
      for (Index k = 0; k < count; ++k)
        layer.W.middleRows(k * rows, rows) = networks[static_cast<std::size_t>(k)].layers[l].W;
    } else {
      layer.W = diagonal(layer.W, [&](const DeepNetwork& n) -> const RowMatrix& { return n.layers[l].W; });
    }
    if (layer.U.size() > 0)
      layer.U = diagonal(layer.U, [&](const DeepNetwork& n) -> const RowMatrix& { return n.layers[l].U; });
  }
  all.V = diagonal(all.V, [](const DeepNetwork& n) -> const RowMatrix& { return n.V; });
  return all;
}

std::string moving_text(const CheckedOptions& o, Index outputs) {
  return o.layers != "auto" ? o.layers : outputs > 1 ? "hidden" : "all";
}

}  // namespace

void check_deep(const CheckedOptions& o) {
  const OptimizerFacts& facts = o.method->facts;
  require_fit(o.depth >= 1 && o.depth <= 1000, fmt::format("depth must be from 1 to 1000; got {}", o.depth));
  if (!o.deep()) {
    require_fit(o.layers == "auto" && !o.separate,
                "`layers` and `separate` are for networks with `depth` above 1");
    return;
  }
  require_fit(facts.hidden && !facts.flow, fmt::format("{} is for one hidden layer", facts.name));
  require_fit(o.scaling == "ntk" && o.output_scale == 1,
              "scaling and output_scale are for one hidden layer: networks of many are drawn in ntk scaling");
  require_fit(o.start.drawn() && !o.start.paired(), "start is for one hidden layer");
  require_fit(o.rule.kind != Step::Kind::theorem, "step theorem is for one hidden layer");
  require_fit(o.space == "auto", "space is for one hidden layer");
  require_fit(!o.polish, "polish is for one hidden layer; the command prove polishes networks of many");
  require_fit(o.widths.empty() || o.width == 0, "widths are those of each layer: leave `width` out");
  layers_named(o.layers, std::ssize(widths_of(o)) + (o.residual ? 1 : 0), 1);  // throws for another text
}

FitResult fit_deep(const Dataset& data, CheckedOptions options, Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  progress.stage("preparing the points");
  if (data.stored)
    throw std::invalid_argument("fit: points that stay in their file are for one hidden layer");
  require_fit(options.normalize, "networks of many layers are trained on points of unit length");
  TrainingSet set = training_set(data, options.center, options.normalize);
  const Matrix& Y = set.Y;
  const Index n = data.n(), K = Y.cols(), trained = options.separate ? 1 : K;
  require_fit(options.batch <= n, fmt::format("batch {} exceeds {} points", options.batch, n));
  const std::vector<Index> widths = widths_of(options);
  options.depth = std::ssize(widths);
  const Moving moving = layers_named(options.layers, options.depth + (options.residual ? 1 : 0), trained);

  const double unit = unit_of(Y, data.task);
  DeepForecast forecast(set, options, moving, unit, progress);
  DeepRun run{options, data, set, input_of(data, set), widths, moving, {}, Y, {}, std::move(forecast), unit};
  run.records = data.records;
  if (set.counts.size() > 0) {
    run.distinct_X = data.X(set.distinct, Eigen::all);
    run.distinct_Y = Y(set.distinct, Eigen::all);
    if (!data.records.empty()) {
      run.records.clear();
      for (const Index i : set.distinct) run.records.push_back(data.records[static_cast<std::size_t>(i)]);
    }
  }
  FitResult result;
  result.n = n;
  result.d = data.d();
  result.n_distinct = set.n_distinct;
  result.width = *std::max_element(widths.begin(), widths.end());
  result.conflicts = std::move(set.conflicts);
  result.nearest = std::move(set.nearest);
  result.space = options.method->facts.step ? "weights" : "gram";
  result.layers = moving_text(options, trained);
  const auto units = static_cast<double>(result.width) * static_cast<double>(options.depth);
  require_memory(8 * (4 * static_cast<double>(n) * units + 4 * units * static_cast<double>(result.width)),
                 "the layers' numbers", "try a smaller width or fewer points (n)");

  if (set.points.n() <= kMostLeftOut)
    expect_of_unseen(
        set, options,
        deep_tangent(activation(options.activation), {.layers = options.depth, .residual = options.residual}),
        result, progress);
  Network like;  // for the checks of the test points alone
  like.normalize = true;
  like.center = set.center;
  like.standardization = set.standardization;
  const auto test = test_points(options.test, data, like);

  Checkpoint checkpoint(options.checkpoint, options.checkpoint_every_s,
                        run_identity(options, data.X, set.standardization, Y));
  RunState state = options.resume ? checkpoint.load() : RunState{};
  const Index trainings = options.separate ? K : 1;
  Outputs here;
  Outputs& outputs = options.outputs != nullptr ? *options.outputs : here;
  outputs.train(trainings, state, checkpoint, [&](Index c, RunState& into, Checkpoint& kept) {
    const Matrix targets = options.separate ? Matrix(Y.col(c)) : Y;
    const Matrix distinct = options.separate ? Matrix(run.distinct_Y.col(c)) : run.distinct_Y;
    const Matrix test_Y = !test ? Matrix() : options.separate ? Matrix(test->Y.col(c)) : test->Y;
    const Vector y = targets.reshaped();
    const std::string label = trainings > 1 ? data.class_names[static_cast<std::size_t>(c)] : "";
    DeepTraining(run, {c, trainings, label, n}, targets, distinct, y,
                 test ? options.test.data.get() : nullptr, test_Y, into, kept, progress)
        .run();
  });
  if (state.current) state.finished.push_back(std::move(*state.current));
  std::vector<DeepNetwork> networks;
  for (std::size_t c = 0; c < state.finished.size(); ++c)
    networks.push_back(
        with_weights(drawn(run, trained, static_cast<Index>(c)), state.finished[c].snapshot.at("weights")));
  gather_results(state, Y, !options.separate, result);
  result.tolerance = options.tolerance;
  if (result.status != Status::interrupted) {
    DeepNetwork whole = side_by_side(networks);
    whole.task = data.task;
    whole.class_names = data.class_names;
    if (test) result.test = judged(*test, predict(whole, options.test.data->X));
    result.deep = std::move(whole);
    if (options.separate) result.separate = std::move(networks);
  }
  result.forecast_missing = run.forecast.missing();
  conclude(result, static_cast<std::size_t>(trainings));
  progress.finish();
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace zeroloss::internal
