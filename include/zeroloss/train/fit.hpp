#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/deep/network.hpp"
#include "zeroloss/network/kernel_network.hpp"
#include "zeroloss/network/tangent_steps.hpp"
#include "zeroloss/processes/process_group.hpp"
#include "zeroloss/proof/certificate.hpp"
#include "zeroloss/theory/suspects.hpp"
#include "zeroloss/train/optimizers.hpp"
#include "zeroloss/train/start.hpp"
#include "zeroloss/train/test_set.hpp"

/// Trains the two-layer network to zero loss, says how far it got beside what theory expects, and proves what
/// can be proved about the weights it ends with.
namespace zeroloss {

constexpr Index kUsualWidth = 1024;               ///< hidden units where nobody says
constexpr const char* kUsualActivation = "relu";  ///< of networks with weights, where nobody says
constexpr Index kMostLeftOut = 3000;  ///< points of which each is left out unasked: that takes a second

struct FitOptions {
  /// A name that activation() knows; auto: relu, of kernel that of relu, erf and sigmoid whose predictions
  /// of points left out are best.
  std::string activation = "auto";
  /// m hidden units; 0 = those of `start`, else 1,024, for output_layer twice the distinct points if that is
  /// more.
  Index width = 0;
  /// Hidden layers, 1 to 1000. More than one: all weights are trained, drawn as kernel/deep.hpp has them.
  Index depth = 1;
  bool residual = false;    ///< `depth` blocks h + U phi(W h)/sqrt(depth) behind an embedding layer
  std::string widths = "";  ///< of each hidden layer, "512,256,256"; empty: `width` of all, by default 256
  std::string layers = "auto";  ///< of many which are trained, as ProveOptions::layers says
  bool separate = false;        ///< a network a class, of many layers, in place of one with an output each
  std::string scaling = "ntk";  ///< ntk | balanced (theory 1)
  double output_scale = 1;      ///< > 0: what drawn output weights are multiplied with
  /// gd: full-batch gradient descent; sgd: uniformly drawn batches of distinct points; momentum: the heavy
  /// ball, W_{k+1} = W_k - step J^T r + momentum (W_k - W_{k-1}), from rest; gauss_newton:
  /// Levenberg-Marquardt on the n x n matrix J J^T + mu I; flow: gradient flow, Dormand-Prince 5(4) with
  /// error control; output_layer: W stays, v = Phi^T (Phi Phi^T)^-1 y, for a
  /// rank below n the shortest least-squares v; kernel: the infinitely wide network with a ridge, for points
  /// that are not fitted (kernel_network.hpp), which takes activation, ridge, center, normalize and test
  /// alone.
  std::string optimizer = "gd";
  /// Of gd, sgd and momentum, for the loss ||r||^2/2 (sgd: its part on the batch): a number > 0;
  /// auto: 1.5/||J(W_0)||^2 (sgd: 1.5 over a bound of the largest ||J||^2 of a batch); theorem: what the
  /// paper's theorem for this scaling and activation allows.
  std::string step = "auto";
  /// Of kernel: a number >= 0, in units of the kernel's diagonal, whose multiple of the identity is added to
  /// the kernel; auto: the best of 15 from 1e-6 to 10 on points left out.
  std::string ridge = "auto";
  /// Of kernel: auto | exact | cg. exact: by a factor of the kernel, up to 20,000 points; cg: by conjugate
  /// gradients, whose answer is bounded; auto: exact where it can be.
  std::string solver = "auto";
  Index batch = 1;                    ///< points in a step of sgd, 1..n
  double momentum = 0.9;              ///< of momentum, in [0, 1); 0 is gradient descent
  std::string precision = "float64";  ///< float64 | float32 (gd, sgd and momentum only)
  Index max_steps = 100'000;          ///< for each output; flow: accepted steps of the integrator
  double max_seconds = 0;             ///< of training, all outputs together; 0 = no limit
  Index patience = 0;              ///< steps without a misfit lower by a hundredth before it ends; 0 = no end
  double tolerance = 0;            ///< relative misfit to reach; 0 = 1e-6, gauss_newton 1e-9, float32 1e-4
  std::string stop = "tolerance";  ///< tolerance | certificate (go on until a certificate holds)
  Index certify_every = 500;       ///< passes over the data between certificates; 0 = at the end only
  Index record_every = 0;          ///< steps between points of the curve; 0 = about 20 a decade
  bool polish = false;             ///< relu: also construct the exact solution where descent is proved
  double flow_tolerance = 1e-8;    ///< absolute and relative error a step of the integrator
  std::string space = "auto";      ///< where steps are computed (theory 6): auto | weights | gram
  bool center = false;             ///< subtract the mean point first
  bool normalize = true;           ///< rows of any length; if not, one off 1 by more than 1e-12 is an error
  double failure_probability = 0.01;  ///< of the theorems' bounds, in (0, 1)
  std::uint64_t seed = 0;             ///< of weights, signs and batches, [0, 2^53)
  Start start = {};                   ///< where training begins: drawn weights, or given ones
  TestSet test = {};                  ///< points that are looked at, not fitted; none: no data
  /// Written every checkpoint_every_s and on interruption; empty = not.
  std::filesystem::path checkpoint = {};
  double checkpoint_every_s = 60;  ///< > 0
  bool resume = false;             ///< continue from `checkpoint`; starts anew if there is none

  bool deep() const { return depth != 1 || residual || !widths.empty(); }  ///< more than one hidden layer
};
template <Is<FitOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"activation",
              "Activation of the hidden units; auto: relu, of kernel the best of relu, erf and sigmoid on "
              "points left out"}
            .under("Network"),
        o.activation);
  visit(Field{"width",
              "Hidden units of each output, or of each layer of many; 0 = those of `start`, else 1,024, for "
              "output_layer twice the points if that is more, and 256 for many layers"}
            .under("Network"),
        o.width);
  visit(Field{"depth",
              "Hidden layers, or blocks of a residual network; of more than one all weights are trained"}
            .under("Network"),
        o.depth);
  visit(Field{"residual", "Residual blocks h + U phi(W h) behind an embedding layer"}.under("Network"),
        o.residual);
  visit(Field{"widths", "Hidden units of each layer, with commas between [`width` of all, by default 256]"}
            .under("Network")
            .not_of_trials(),
        o.widths);
  visit(Field{"layers",
              "Of many layers which are trained: all, hidden, lastK, numbers from 1 with commas between, or "
              "auto: all, hidden for one network with an output a class"}
            .under("Network")
            .not_of_trials(),
        o.layers);
  visit(Field{"separate", "Of many layers: a network a class, in place of one with an output each"}
            .under("Network")
            .not_of_trials(),
        o.separate);
  visit(Field{"scaling", "Output weights: ntk (+-1/sqrt(m)) or balanced (+-||y||/sqrt(m n))"}
            .under("Network")
            .of("ntk|balanced"),
        o.scaling);
  visit(Field{"output_scale", "Factor of drawn output weights, > 0"}.under("Network").not_of_trials(),
        o.output_scale);
  visit(Field{"optimizer", optimizer_help("optimizer")}.of(optimizer_choices()).under("Training"),
        o.optimizer);
  visit(Field{"step", optimizer_help("step")}.taking("NUMBER|auto|theorem").under("Training"), o.step);
  visit(Field{"ridge",
              "Of kernel: what is added to its diagonal, in units of that, >= 0; auto: the best of 15 on "
              "points left out"}
            .taking("NUMBER|auto")
            .under("Training")
            .not_of_trials(),
        o.ridge);
  visit(
      Field{"solver",
            "Of kernel: exact (a factor of the kernel, up to 20,000 points), cg (conjugate gradients, whose "
            "answer is bounded) or auto"}
          .of("auto|exact|cg")
          .under("Training")
          .not_of_trials(),
      o.solver);
  visit(Field{"batch", optimizer_help("batch")}.under("Training"), o.batch);
  visit(Field{"momentum", "Of momentum: the part of the last step that is taken again, in [0, 1)"}.under(
            "Training"),
        o.momentum);
  visit(Field{"precision", optimizer_help("precision")}.under("Network").of("float64|float32"), o.precision);
  visit(Field{"max_steps", "Most steps of each output"}.under("Stopping and proof"), o.max_steps);
  visit(Field{"max_seconds",
              "Most seconds of training, after which it ends with the step in work; 0 = no limit"}
            .under("Stopping and proof")
            .aside(),
        o.max_seconds);
  visit(Field{"patience", "Steps without a misfit lower by a hundredth, after which it ends; 0 = it goes on"}
            .under("Stopping and proof")
            .not_of_trials(),
        o.patience);
  visit(Field{"tolerance", optimizer_help("tolerance")}.under("Stopping and proof"), o.tolerance);
  visit(Field{"stop", "tolerance, or certificate: go on until one holds"}
            .under("Stopping and proof")
            .of("tolerance|certificate")
            .not_of_trials(),
        o.stop);
  visit(Field{"certify_every", "Passes over the data between certificates; 0 = at the end only"}
            .under("Stopping and proof")
            .not_of_trials(),
        o.certify_every);
  visit(Field{"record_every", "Steps between rows of metrics.csv; 0 = about 20 a decade"}
            .under("Stopping and proof")
            .not_of_trials(),
        o.record_every);
  visit(Field{"flow_tolerance", "Error allowed in a step of flow"}.under("Training"), o.flow_tolerance);
  visit(Field{"space", "Where a step is computed: weights, gram (without touching W), or auto: the cheaper"}
            .under("Training")
            .of("auto|weights|gram"),
        o.space);
  visit(Field{"polish",
              "relu: write polished.safetensors, whose misfit is at rounding level, to the run folder"}
            .under("Stopping and proof")
            .not_of_trials(),
        o.polish);
  visit(Field{"center", "Subtract the mean point before normalising"}.under("Network"), o.center);
  visit(Field{"normalize",
              "Divide rows by their length; if not, refuse rows whose length is off 1 by more than 1e-12"}
            .turned_off("Refuse rows whose length is off 1 by more than 1e-12")
            .under("Network"),
        o.normalize);
  visit(
      Field{"failure_probability", "Allowed for the theorems' bounds, in (0, 1)"}.under("Stopping and proof"),
      o.failure_probability);
  visit(Field{"seed", "Of weights, signs and batches: an integer from 0 to 2^53 - 1"}.not_of_trials(),
        o.seed);
  visit(Field{"start", "Where training begins: gaussian or pairs (drawn weights), or given ones"}
            .not_of_trials(),
        o.start);
  visit(Field{"test", "Points that are looked at, not fitted"}.not_of_trials(), o.test);
  visit(Field{"checkpoint", "File for what a resumed run needs; empty = none"}.apart(), o.checkpoint);
  visit(Field{"checkpoint_every_s", "Seconds between checkpoints of a run folder"}.under("Options").apart(),
        o.checkpoint_every_s);
  visit(Field{"resume", "Go on with an interrupted run"}.apart(), o.resume);
}

/// How training of an output ended, from best to worst. certified: a certificate holds for the final weights.
/// converged: the misfit is at most the tolerance. solved: kernel has its solution, which a ridge keeps from
/// the targets. budget_spent: max_steps are done, or max_seconds. stalled:
/// no step makes progress any more, or none for as long as `patience` says. diverged: not finite, or 1000
/// times the start.
enum class Status { certified, converged, solved, budget_spent, stalled, diverged, interrupted };
std::string name(Status status);

/// One point of the training curve, with what theory says beside it (empty where it says nothing).
struct CurvePoint {
  Index step = 0;
  double time = 0;              ///< sum of step sizes; of gradient flow t, of gauss_newton the steps
  double relative_misfit = 0;   ///< ||r||/||y||; ||r|| if y = 0
  double max_distance = 0;      ///< max_j ||w_j - w_j(0)||
  double distance = 0;          ///< ||W - W_0||_F
  double path_length = 0;       ///< sum of ||W_{k+1} - W_k||_F
  double flipped_fraction = 0;  ///< of the n m signs [z_ij >= 0] that differ from the start
  std::optional<double> lambda_min = {};  ///< of J J^T: proven lower bound (0 if none), where certified
  /// Relative misfit of the infinitely wide network from the drawn outputs.
  std::optional<double> forecast = {};
  /// The theorem's bounds of the columns above: of this run where OutputResult::theorem holds, otherwise what
  /// it would say of one that meets its conditions. None for sgd, whose theorem bounds a mean over runs.
  std::optional<double> bound_misfit = {};
  std::optional<double> bound_max_distance = {};
  std::optional<double> bound_distance = {};
  std::optional<double> bound_path_length = {};
  /// On the test points: root mean square of f - y, or the fraction on the wrong side (of several classes:
  /// of this one against the rest). Empty without test points, and where it is not finite.
  std::optional<double> test_error = {};
};
template <Is<CurvePoint> T, class Visitor>
void fields(T& p, const Visitor& visit) {
  visit(Field{"step"}, p.step);
  visit(Field{"time", "Sum of step sizes."}, p.time);
  visit(Field{"relative_misfit", "||r||/||y||."}, p.relative_misfit);
  visit(Field{"max_distance", "max_j ||w_j - w_j(0)||."}, p.max_distance);
  visit(Field{"distance", "||W - W_0||_F."}, p.distance);
  visit(Field{"path_length", "Sum of ||W_{k+1} - W_k||_F."}, p.path_length);
  visit(Field{"flipped_fraction", "Of the signs [z_ij >= 0]."}, p.flipped_fraction);
  visit(Field{"lambda_min", "Of J J^T: proven lower bound, where certified."}, p.lambda_min);
  visit(Field{"forecast", "Relative misfit of the infinitely wide network."}, p.forecast);
  visit(Field{"bound_misfit"}, p.bound_misfit);
  visit(Field{"bound_max_distance"}, p.bound_max_distance);
  visit(Field{"bound_distance"}, p.bound_distance);
  visit(Field{"bound_path_length"}, p.bound_path_length);
  visit(Field{"test_error", "On the test points: root mean square, or fraction on the wrong side."},
        p.test_error);
}

/// The theorem whose bounds stand in the curve.
struct TheoremBeside {
  /// Theorem::id; empty if no theorem covers activation, scaling and optimizer, or it is the certificate of
  /// the run's own start.
  std::string id;
  std::string theorem;  ///< its title; empty likewise
  /// width and step meet its conditions: then the bounds hold but for `failure_probability`.
  bool holds = false;
  double step = 0;   ///< largest step that it allows; 0 for flow
  double width = 0;  ///< sufficient width
  double failure_probability = 1;
  std::string reason;  ///< why it does not hold, and by how much
};
template <Is<TheoremBeside> T, class Visitor>
void fields(T& t, const Visitor& visit) {
  visit(Field{"id", "Of the theorem; empty if none covers the run."}, t.id);
  visit(Field{"theorem"}, t.theorem);
  visit(Field{"holds"}, t.holds);
  visit(Field{"step", "Largest step that it allows; 0 for flow."}.only_if(t.step > 0), t.step);
  visit(Field{"width", "Sufficient width."}.only_if(t.width > 0), t.width);
  visit(Field{"failure_probability"}, t.failure_probability);
  visit(Field{"reason", "Why it does not hold, and by how much."}, t.reason);
}

/// Training of one output: of regression, of two classes, or of one class against the rest.
struct OutputResult {
  std::string label;  ///< class name; empty unless there are more than two
  Status status = Status::budget_spent;
  std::string reason = {};  ///< of budget_spent, stalled and diverged
  Index steps = 0;
  double step = 0;                         ///< eta; 0 where the optimizer has none
  double relative_misfit = 0;              ///< of the final weights, evaluated in double
  Certificate certificate;                 ///< of the final weights
  std::optional<Index> certified_at = {};  ///< if certified: the first step at which a certificate held
  std::vector<CurvePoint> curve = {};
  TheoremBeside theorem = {};
  double seconds = 0;
};
template <Is<OutputResult> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"label", "Class name; empty unless there are more than two."}, o.label);
  visit(Field{"status"}, o.status);
  visit(Field{"reason", "Of budget_spent, stalled and diverged."}, o.reason);
  visit(Field{"steps"}, o.steps);
  visit(Field{"step", "eta; 0 where the optimizer has none."}.only_if(o.step > 0), o.step);
  visit(Field{"relative_misfit", "Of the final weights, evaluated in double."}, o.relative_misfit);
  visit(Field{"certificate"}, o.certificate);
  visit(Field{"certified_at", "First step at which a certificate held."}, o.certified_at);
  visit(Field{"theorem"}, o.theorem);
  visit(Field{"seconds"}, o.seconds);
  visit(Field{"curve"}.apart(), o.curve);
}

/// The trained network on the test points.
struct TestResult {
  Index n = 0;                      ///< test points
  std::optional<Index> wrong = {};  ///< classification: points whose class is another one
  double error = 0;                 ///< wrong/n; regression: root mean square of f - y
};
template <Is<TestResult> T, class Visitor>
void fields(T& t, const Visitor& visit) {
  visit(Field{"n", "Test points."}, t.n);
  visit(Field{"wrong", "Classification: points whose class is another one."}, t.wrong);
  visit(Field{"error", "wrong/n; regression: root mean square of f - y."}, t.error);
}

/// How the equations of `kernel` were solved.
struct KernelSolution {
  std::string solver;   ///< exact: a factor of the kernel; cg: conjugate gradients
  Index steps = 0;      ///< of conjugate gradients
  double residual = 0;  ///< the largest ||residual||/||targets|| of an output, computed anew
  /// What an output may be off the exact predictor's at any point of unit length, proved, all rounding
  /// counted but that of evaluating it there, offset included; infinite where nothing is proved.
  double error = 0;
  bool verified = false;  ///< `error` is proved
  /// Points, drawn evenly, on which the ridge was chosen if it was, each left out; the leave-one-out error
  /// is theirs.
  Index chosen_on = 0;
  Index activation_chosen_on = 0;  ///< points, drawn evenly, that the activation was; 0 where it was given
  bool ridge_at_end = false;       ///< the ridge is the least or the largest of those that were tried
};
template <Is<KernelSolution> T, class Visitor>
void fields(T& s, const Visitor& visit) {
  visit(Field{"solver", "exact: a factor of the kernel; cg: conjugate gradients."}, s.solver);
  visit(Field{"steps", "Of conjugate gradients."}, s.steps);
  visit(Field{"residual", "Largest ||residual||/||targets|| of an output, computed anew."}, s.residual);
  visit(Field{"error",
              "What an output may be off the exact predictor's at any point, before it is rounded there."},
        s.error);
  visit(Field{"verified", "`error` is proved."}, s.verified);
  visit(Field{"chosen_on",
              "Points, each left out, that the leave-one-out error is of, and the choice of a ridge."},
        s.chosen_on);
  visit(Field{"activation_chosen_on", "Points on which the activation was; 0 where it was given."},
        s.activation_chosen_on);
  visit(Field{"ridge_at_end", "The ridge is the least or the largest of those that were tried."},
        s.ridge_at_end);
}

struct FitResult {
  std::string conclusion;                ///< the answer in a sentence or two
  Status status = Status::budget_spent;  ///< the worst of the outputs'
  Index n = 0, d = 0;
  Index n_distinct = 0;  ///< distinct points; all samples are trained on
  Index width = 0;       ///< hidden units of each output
  /// Equal points with different labels: zero loss is impossible.
  std::vector<std::vector<Sample>> conflicts;
  /// Different points within 1e-6 of each other, rather with different targets, which may stand in the way of
  /// a proof.
  std::optional<SamplePair> nearest;
  Index steps = 0;             ///< most of any output
  double step = 0;             ///< eta of the first output
  double tolerance = 0;        ///< the one in force
  double relative_misfit = 0;  ///< ||R||_F/||Y||_F over all outputs; ||R||_F if Y = 0
  /// All outputs': kind is the weakest, radius the largest, margin and lambda_min the smallest.
  Certificate certificate;
  std::optional<Index> certified_at;  ///< if certified: by this step each output had held a certificate
  double max_distance = 0, flipped_fraction = 0;  ///< largest of any output, at the end
  std::vector<OutputResult> outputs;
  std::string forecast_missing;         ///< why there is no forecast; empty if there is
  std::string space;                    ///< weights | gram
  std::string engine = {};              ///< the device that took the steps; empty of this process
  std::optional<TestResult> test = {};  ///< if there are test points and the run was not interrupted
  /// Of the infinitely wide network trained on all other points, at each (theory 5): the fraction
  /// misclassified; of numbers the root mean square over the targets' deviation. That of `kernel` with its
  /// ridge, of other optimizers without one: what certify finds. Empty above 3,000 points, and where equal
  /// points have different labels.
  std::optional<double> leave_one_out_error = {};
  std::optional<double> guessing_error = {};  ///< by the same measure, of the most frequent class or the mean
  Network network;                            ///< of one hidden layer
  std::optional<DeepNetwork> deep;            ///< of many
  std::optional<KernelNetwork> kernel;        ///< infinitely wide: then the two above are empty
  std::optional<KernelSolution> solution = {};  ///< of that
  std::vector<DeepNetwork> separate;  ///< of many, a network a class: those that `deep` has side by side
  std::string layers;                 ///< of many: which were trained
  std::optional<Network> polished;    ///< relu, if every output has one: misfit at rounding level
  std::vector<TwoLayer> witnesses;    ///< of each output; without v where its proof is at its own weights
  double seconds = 0;
};
template <Is<FitResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion", "The answer in a sentence or two."}, r.conclusion);
  visit(
      Field{"status",
            "certified | converged | solved | budget_spent | stalled | diverged: the worst of the outputs'."},
      r.status);
  visit(Field{"n", "Points."}, r.n);
  visit(Field{"d", "Features."}, r.d);
  visit(Field{"n_distinct", "Distinct points; all samples are trained on."}, r.n_distinct);
  visit(Field{"width", "Hidden units of each output."}, r.width);
  visit(Field{"conflicts", "Equal points with different labels."}, r.conflicts);
  visit(Field{"nearest", "Different points within 1e-6, rather with different labels, or None."}, r.nearest);
  visit(Field{"steps", "Most of any output."}, r.steps);
  visit(Field{"step", "eta of the first output."}.only_if(r.step > 0), r.step);
  visit(Field{"relative_misfit", "||R||_F/||Y||_F over all outputs."}, r.relative_misfit);
  visit(Field{"certificate", "All outputs': the weakest kind, largest radius, smallest margin."},
        r.certificate);
  visit(Field{"certified_at", "By this step each output had held a certificate."}, r.certified_at);
  visit(Field{"max_distance", "Largest of any output, at the end."}, r.max_distance);
  visit(Field{"flipped_fraction", "Largest of any output, at the end."}, r.flipped_fraction);
  visit(Field{"outputs", "Training of each output, curve included."}.spelled("per_class"), r.outputs);
  visit(Field{"forecast_missing", "Why there is no forecast; empty if there is."}, r.forecast_missing);
  visit(Field{"space", "weights | gram."}, r.space);
  visit(Field{"engine", "The device that took the steps; empty of this process."}.only_if(!r.engine.empty()),
        r.engine);
  visit(Field{"tolerance", "The one in force."}, r.tolerance);
  visit(Field{"test", "The trained network on the test points, or None."}, r.test);
  visit(
      Field{"leave_one_out_error",
            "Of the infinitely wide network, at points left out: fraction misclassified, or root mean square "
            "over the targets' deviation. None above 3,000 points."},
      r.leave_one_out_error);
  visit(Field{"guessing_error", "By the same measure, of the most frequent class, or of the mean."},
        r.guessing_error);
  visit(
      Field{"solution", "How the equations of kernel were solved, or None."}.only_if(r.solution.has_value()),
      r.solution);
  visit(Field{"layers", "Of many layers: which were trained."}, r.layers);
  visit(Field{"network"}.apart(), r.network);
  visit(Field{"deep", "The network of many layers, or None."}.apart(), r.deep);
  visit(Field{"kernel", "The infinitely wide network, or None."}.apart(), r.kernel);
  visit(Field{"separate", "Of many layers trained apart: a network a class."}.apart(), r.separate);
  visit(Field{"polished", "relu: a network whose misfit is at rounding level, or None."}.apart(), r.polished);
  visit(Field{"witnesses", "Of each output what its proof of existence is at; without v: its own weights."}
            .apart(),
        r.witnesses);
  visit(Field{"seconds"}, r.seconds);
}

/// Throws std::invalid_argument naming an option that is out of range or does not go with another (a start of
/// another width, activation or scaling), DataError for data without targets or that cannot be used, a start
/// that does not fit them and test points of other features, task or classes, ResourceError if memory does
/// not suffice. Cancelled through `progress` while it trains, it returns what is done as interrupted and
/// writes the checkpoint; before that it throws Interrupted. For one machine and BLAS the result does not
/// depend on the number of threads, nor on interruptions. A step costs 4 n d m flops in the space of weights,
/// 2 n^2 m in Gram space; gauss_newton adds n^2 m + n^3/3.
/// Outputs that are trained apart, a class each, are trained side by side by the processes of a `group`,
/// whose others serve(); from drawn weights only.
FitResult fit(const Dataset& data, const FitOptions& options, Progress& progress, const Group& group = {});
FitResult fit(const Dataset& data, const FitOptions& options = {});

/// The same with steps that a device takes, which agree with those of this process to rounding and may differ
/// from run to run where its library's sums do; forecast and proof are made here. Throws
/// std::invalid_argument for an optimizer other than gauss_newton, many layers, and space gram.
FitResult fit(const Dataset& data, const FitOptions& options, Progress& progress,
              const TangentEngine& engine);

/// What the other processes of a group do for it.
Services fit_services();

}  // namespace zeroloss
