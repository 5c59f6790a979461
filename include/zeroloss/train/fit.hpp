#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/proof/certificate.hpp"
#include "zeroloss/theory/suspects.hpp"

/// Trains the two-layer network to zero loss, says how far it got beside what theory expects, and proves what
/// can be proved about the weights it ends with.
namespace zeroloss {

struct FitOptions {
  std::string activation = "relu";  ///< a name that activation() knows
  Index width = 1024;               ///< m >= 1 hidden units
  std::string scaling = "ntk";      ///< ntk | balanced (theory 1)
  /// gd: full-batch gradient descent; sgd: uniformly drawn batches of distinct points; gauss_newton:
  /// Levenberg-Marquardt on the n x n matrix J J^T + mu I; flow: gradient flow, Dormand-Prince 5(4) with
  /// error control; output_layer: W stays, v = Phi^T (Phi Phi^T)^-1 y.
  std::string optimizer = "gd";
  /// Of gd and sgd, for the loss ||r||^2/2 (sgd: its part on the batch): a number > 0; auto: 1.5/||J(W_0)||^2
  /// (sgd: 1.5 over a bound of the largest ||J||^2 of a batch); theorem: what the paper's theorem for this
  /// scaling and activation allows.
  std::string step = "auto";
  Index batch = 1;                    ///< points in a step of sgd, 1..n
  std::string precision = "float64";  ///< float64 | float32 (gd and sgd only)
  Index max_steps = 100'000;          ///< for each output; flow: accepted steps of the integrator
  double tolerance = 0;               ///< relative misfit to reach; 0 = 1e-6, gauss_newton 1e-9, float32 1e-4
  std::string stop = "tolerance";     ///< tolerance | certificate (go on until a certificate holds)
  Index certify_every = 500;          ///< passes over the data between certificates; 0 = at the end only
  Index record_every = 0;             ///< steps between points of the curve; 0 = about 20 a decade
  bool polish = false;                ///< relu: also construct the exact solution where descent is proved
  double flow_tolerance = 1e-8;       ///< absolute and relative error a step of the integrator
  std::string space = "auto";         ///< where steps are computed (theory 6): auto | weights | gram
  bool center = false;                ///< subtract the mean point first
  bool normalize = true;  ///< rows of any length; if not, one off 1 by more than 1e-12 is an error
  double failure_probability = 0.01;  ///< of the theorems' bounds, in (0, 1)
  std::uint64_t seed = 0;             ///< of weights, signs and batches, [0, 2^53)
  std::filesystem::path checkpoint =
      {};                          ///< written every checkpoint_every_s and on interruption; empty = not
  double checkpoint_every_s = 60;  ///< > 0
  bool resume = false;             ///< continue from `checkpoint`; starts anew if there is none
};

/// How training of an output ended, from best to worst. certified: a certificate holds for the final weights.
/// converged: the misfit is at most the tolerance. budget_spent: max_steps are done, or no step makes
/// progress any more. diverged: not finite, or 1000 times the start.
enum class Status { certified, converged, budget_spent, diverged, interrupted };
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
  std::optional<double> forecast =
      {};  ///< relative misfit of the infinitely wide network from the drawn outputs
  /// The theorem's bounds of the columns above: of this run where OutputResult::theorem holds, otherwise what
  /// it would say of one that meets its conditions. None for sgd, whose theorem bounds a mean over runs.
  std::optional<double> bound_misfit = {};
  std::optional<double> bound_max_distance = {};
  std::optional<double> bound_distance = {};
  std::optional<double> bound_path_length = {};
};

/// The theorem whose bounds stand in the curve.
struct TheoremBeside {
  std::string theorem;  ///< empty if no theorem covers activation, scaling and optimizer
  bool holds =
      false;  ///< width and step meet its conditions: then the bounds hold but for `failure_probability`
  double step = 0;   ///< largest step that it allows; 0 for flow
  double width = 0;  ///< sufficient width
  double failure_probability = 1;
  std::string reason;  ///< why it does not hold, and by how much
};

/// Training of one output: of regression, of two classes, or of one class against the rest.
struct OutputResult {
  std::string label;  ///< class name; empty unless there are more than two
  Status status = Status::budget_spent;
  std::string reason = {};  ///< of budget_spent and diverged
  Index steps = 0;
  double step = 0;                         ///< eta; 0 where the optimizer has none
  double relative_misfit = 0;              ///< of the final weights, evaluated in double
  Certificate certificate;                 ///< of the final weights
  std::optional<Index> certified_at = {};  ///< if certified: the first step at which a certificate held
  std::vector<CurvePoint> curve = {};
  TheoremBeside theorem = {};
  double seconds = 0;
};

struct FitResult {
  std::string conclusion;                ///< the answer in a sentence or two
  Status status = Status::budget_spent;  ///< the worst of the outputs'
  Index n = 0, d = 0;
  Index n_distinct = 0;  ///< distinct points; all samples are trained on
  std::vector<std::vector<Sample>>
      conflicts;  ///< equal points with different labels: zero loss is impossible
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
  std::string forecast_missing;  ///< why there is no forecast; empty if there is
  std::string space;             ///< weights | gram
  Network network;
  std::optional<Network> polished;  ///< relu, if every output has one: misfit at rounding level
  double seconds = 0;
};

/// Throws std::invalid_argument naming an option that is out of range or does not go with another, DataError
/// for data without targets or that cannot be used, ResourceError if memory does not suffice. Cancelled
/// through `progress` while it trains, it returns what is done as interrupted and writes the checkpoint;
/// before that it throws Interrupted. For one machine and BLAS the result does not depend on the number of
/// threads, nor on interruptions. Cost of a step: see Space in train/engine/trainer.hpp; gauss_newton adds n^2 m +
/// n^3/3.
FitResult fit(const Dataset& data, const FitOptions& options, Progress& progress);
FitResult fit(const Dataset& data, const FitOptions& options = {});

}  // namespace zeroloss
