#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/deep.hpp"
#include "zeroloss/kernel/engine.hpp"
#include "zeroloss/kernel/tail.hpp"
#include "zeroloss/theory/forecast.hpp"
#include "zeroloss/theory/guarantee.hpp"
#include "zeroloss/theory/suspects.hpp"
#include "zeroloss/theory/width_row.hpp"

/// Can an over-parameterised network fit this data, how wide, with what step, how fast, and which
/// samples stand in the way? Everything here is answered before training, from the kernel of the infinitely
/// wide network.
namespace zeroloss {

struct CertifyOptions {
  std::string activation = "relu";  ///< a name that activation() knows
  Index depth = 1;                  ///< hidden layers, or residual blocks: 1 .. 1000
  bool residual = false;  ///< residual blocks behind an embedding layer, branches of scale 1 (Depth)
  bool center = false;    ///< subtract the mean point first
  bool normalize = true;  ///< rows of any length; if not, one off 1 by more than 1e-12 is an error
  /// How lambda_min is bounded. factor: of the kernel, 4 n^2 bytes and some n^3 operations. tail: of its
  /// power series, 12 n d bytes and n^2 d/2; lower, and without what needs the kernel itself. auto: factor
  /// where all_bounds or spectrum want it, and for up to 30,000 distinct points whose kernel fits into
  /// memory; else tail.
  std::string method = "auto";
  /// How the factorisation proves its bound. theorem: of Cholesky factorisation in floating point, for BLAS
  /// and LAPACK as they are known. residual: K - s I - L L^T is computed and bounded, whoever computed L, for
  /// half the operations again. auto: theorem in one process, residual beyond it and on a
  /// device, of which the theorem is refused.
  std::string proof = "auto";
  Index passes = 1;                   ///< of tail over all pairs, >= 1; further ones sharpen its bound
  double failure_probability = 0.01;  ///< of the a-priori guarantees, in (0, 1)
  double accuracy = 1e-3;             ///< relative misfit that the step counts refer to, in (0, 1)
  double width = 0;                   ///< hidden units of a given network; 0 = ask for the sufficient width
  double step = 0;                    ///< step of the forecast; 0 = 1.5/lambda_max
  /// Also lambda~ and the lower bounds mu_r^2 lambda_min(G^{o r+1}) for r = 0, 1, 2, 3; verified. Theorems
  /// 2.1, 2.3 and 3.2 take these.
  bool all_bounds = false;
  bool spectrum = false;   ///< also all n eigenvalues
  std::uint64_t seed = 0;  ///< of probes and shuffled labels, [0, 2^53)

  Depth network() const { return {.layers = depth, .residual = residual}; }
};
template <Is<CertifyOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"activation", "Activation of the hidden units"}.under("Options"), o.activation);
  visit(Field{"depth",
              "Hidden layers, or blocks of a residual network, 1 to 1000; more than one: all weights are "
              "trained, "
              "and what is proved of one hidden layer alone is left out"}
            .under("Options"),
        o.depth);
  visit(Field{"residual", "Residual blocks h + U phi(W h) behind an embedding layer"}.under("Options"),
        o.residual);
  visit(Field{"center", "Subtract the mean point before normalising"}.under("Options"), o.center);
  visit(Field{"normalize",
              "Divide rows by their length; if not, refuse rows whose length is off 1 by more than 1e-12"}
            .under("Options")
            .turned_off("Refuse rows whose length is off 1 by more than 1e-12"),
        o.normalize);
  visit(
      Field{"method",
            "How lambda_min is bounded: factor (the kernel is formed and factored), tail (its power series, "
            "with the points alone in memory), or auto: factor where it fits and takes some "
            "minutes at most"}
          .under("Options")
          .of("auto|factor|tail"),
      o.method);
  visit(
      Field{
          "proof",
          "How the factorisation proves its bound: theorem (about Cholesky factorisation in floating point), "
          "residual (K - L L^T is bounded, whoever computed L), or auto: theorem in one process, residual "
          "beyond it"}
          .under("Options")
          .of("auto|theorem|residual"),
      o.proof);
  visit(Field{"passes", "Of tail over all pairs of points: further ones sharpen its bound"}.under("Options"),
        o.passes);
  visit(Field{"failure_probability", "Allowed for the a-priori guarantees, in (0, 1)"}.under("Options"),
        o.failure_probability);
  visit(Field{"accuracy", "Relative misfit that step counts refer to, in (0, 1)"}.under("Options"),
        o.accuracy);
  visit(Field{"width", "Hidden units of a given network; 0 asks for the sufficient width"}.under("Options"),
        o.width);
  visit(Field{"step", "Step of the forecast; 0 = 1.5/lambda_max"}, o.step);
  visit(Field{"all_bounds",
              "More lower bounds, all of them proven: lambda~ and r = 0, 1, 2, 3 (about five times the work)"}
            .under("Options"),
        o.all_bounds);
  visit(Field{"spectrum", "All eigenvalues, in JSON and run folder (8 n^2 bytes)"}.under("Options"),
        o.spectrum);
  visit(Field{"seed", "Of probes and shuffled labels: an integer from 0 to 2^53 - 1"}, o.seed);
}

/// A sample that holds lambda_min down: `weight` is its squared entry in the unit eigenvector, or its part in
/// the row that holds the bound of the tail down.
struct Bottleneck {
  Sample sample;
  double weight = 0;
};
template <Is<Bottleneck> T, class Visitor>
void fields(T& b, const Visitor& visit) {
  fields(b.sample, visit);
  visit(Field{"weight", "Its squared entry in the unit eigenvector; of a tail, its part in the lowest row."},
        b.weight);
}

struct CertifyResult {
  std::string conclusion;  ///< the answer in a sentence or two
  std::string outcome;     ///< verified | not verified | zero | impossible
  std::string reason;      ///< why not verified, zero or impossible; empty if verified

  Index n = 0, d = 0, n_distinct = 0;
  Center center;  ///< what was subtracted; empty if nothing was
  Task task = Task::none;
  std::vector<std::string> class_names;
  std::string activation;
  std::string kernel;   ///< whose lambda_min this is: Sigma(relu), Theta_L(relu, 3 layers)
  std::string network;  ///< in words: "relu network of 3 hidden layers"

  std::string method;             ///< factor | tail: how lambda_min was bounded
  std::string proof;              ///< theorem | residual: what proves a factorisation; empty of a tail
  std::string engine;             ///< "4 processes, 2 x 2", a device by LibTorch; empty of this process
  std::optional<TailBound> tail;  ///< where it was the tail
  /// What is not said: of a tail what takes the kernel itself, of many layers what is proved of one alone.
  std::string left_out;
  /// Of the kernel on the distinct points, computed; 0 where it is known to vanish, NaN of a tail.
  double lambda_min = 0;
  std::optional<double> lambda_min_verified;  ///< proven lower bound
  double rounding_loss = 0;  ///< what the proof gives away to rounding and entry errors; NaN of a tail
  double lambda_max = 0;     ///< of the kernel of all samples; NaN of a tail
  double ridge = 0;          ///< added to H for what needs its inverse; 0 unless H is numerically singular
  double norm_X = 0;         ///< ||X|| of all samples, proven upper bound
  std::vector<Bottleneck> bottleneck;  ///< largest weights first, at most 6
  /// Between the first two of them, up to sign; 0, and not antipodal, if there is one point or the kernel
  /// between them is 0.
  double bottleneck_distance = 0;
  bool bottleneck_antipodal = false;  ///< it is that to minus the second
  /// All eigenvalues, ascending, if asked for; equal samples count as often as they occur.
  std::vector<double> spectrum;

  double separation = 0;  ///< proven lower bound of delta, the least distance of distinct points up to sign
  std::vector<SamplePair> closest;              ///< nearest first
  std::vector<std::vector<Sample>> duplicates;  ///< groups of equal points with equal labels
  std::vector<std::vector<Sample>> conflicts;   ///< groups of equal points with different labels
  std::vector<SamplePair> antipodal;            ///< pairs x, -x, exactly
  /// Different points within 1e-6 of each other up to sign, rather with different labels, if there are any.
  std::optional<SamplePair> nearest;
  Index near_pairs = 0;  ///< pairs of distinct points closer than 1.42e-3 up to sign

  std::vector<WidthRow> widths;  ///< how wide, in short; empty here: widths_in_short() finds them
  std::vector<Guarantee> guarantees;
  std::optional<Forecast> forecast;  ///< null without labels
  /// By class (one number for regression or two classes); empty without labels.
  std::vector<double> complexity;
  std::vector<double> complexity_shuffled;    ///< the same for the same labels in random order
  std::optional<double> leave_one_out_error;  ///< fraction misclassified, or relative root mean square error
  std::vector<Suspect> suspects;              ///< worst first

  double seconds = 0;
  double peak_bytes = 0;  ///< largest resident size of the process
};
template <Is<CertifyResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion", "The answer in a sentence or two."}, r.conclusion);
  visit(Field{"outcome", "verified | not verified | zero | impossible."}, r.outcome);
  visit(Field{"reason", "Why not verified, zero or impossible; empty if verified."}, r.reason);
  visit(Field{"n", "Points."}, r.n);
  visit(Field{"d", "Features."}, r.d);
  visit(Field{"n_distinct", "Distinct points."}, r.n_distinct);
  visit(Field{"task", "none | regression | classification."}.only_if(r.task != Task::none), r.task);
  visit(Field{"class_names"}.spelled("classes").only_if(r.task == Task::classification), r.class_names);
  visit(Field{"activation"}.apart(), r.activation);
  visit(Field{"kernel", "Whose lambda_min this is: Sigma of one hidden layer, Theta_L of many."}, r.kernel);
  visit(Field{"network", "In words."}, r.network);
  visit(Field{"method", "factor | tail: how lambda_min was bounded."}, r.method);
  visit(Field{"proof", "theorem | residual: what proves the factorisation; empty of a tail."}, r.proof);
  visit(Field{"engine", "The processes, or the device, that did the work; empty of this process alone."}
            .only_if(!r.engine.empty()),
        r.engine);
  visit(Field{"tail", "How the tail of the power series proves it; None otherwise."}, r.tail);
  visit(
      Field{
          "left_out",
          "What is not said: of a tail what takes the kernel itself, of many layers what is proved of one."},
      r.left_out);
  visit(Field{"lambda_min", "Of the kernel on the distinct points, computed; NaN of a tail."}, r.lambda_min);
  visit(Field{"lambda_min_verified", "Proven lower bound, or None."}, r.lambda_min_verified);
  visit(Field{"rounding_loss", "What the proof gives away to rounding and entry errors; NaN of a tail."},
        r.rounding_loss);
  visit(Field{"lambda_max", "Of the kernel of all samples; NaN of a tail."}, r.lambda_max);
  visit(Field{"ridge", "Added where the inverse is needed; 0 unless numerically singular."}, r.ridge);
  visit(Field{"norm_X", "||X|| of all samples, proven upper bound."}, r.norm_X);
  visit(Field{"center", "What was subtracted; empty if nothing was."}.only_if(!r.center.empty()), r.center);
  visit(Field{"separation", "Proven lower bound of delta, the least distance of distinct points up to sign."},
        r.separation);
  visit(Field{"near_pairs", "Pairs of distinct points closer than 1.42e-3 up to sign."}, r.near_pairs);
  visit(Field{"closest", "Nearest first."}, r.closest);
  visit(Field{"duplicates", "Groups of equal points with equal labels."}, r.duplicates);
  visit(Field{"conflicts", "Groups of equal points with different labels."}.only_if(r.task != Task::none),
        r.conflicts);
  visit(Field{"antipodal", "Pairs x, -x, exactly."}, r.antipodal);
  visit(Field{"nearest", "Different points within 1e-6, rather with different labels, or None."}, r.nearest);
  visit(Field{"bottleneck", "Largest weights first, at most 6."}, r.bottleneck);
  visit(Field{"bottleneck_distance",
              "Between the first two of them, up to sign; 0 and not antipodal where the kernel between them "
              "is 0."},
        r.bottleneck_distance);
  visit(Field{"bottleneck_antipodal", "It is that to minus the second."}, r.bottleneck_antipodal);
  visit(Field{"complexity", "By class; empty without labels."}.only_if(r.task != Task::none), r.complexity);
  visit(Field{"complexity_shuffled", "The same for labels in random order."}.only_if(r.task != Task::none),
        r.complexity_shuffled);
  visit(Field{"leave_one_out_error",
              "Fraction misclassified, or relative root mean square error; None without labels."},
        r.leave_one_out_error);
  visit(Field{"suspects", "Labels that look wrong, worst first."}.only_if(r.task != Task::none), r.suspects);
  visit(Field{"widths", "How wide, in short: too few below, enough for these labels and for any."}, r.widths);
  visit(Field{"guarantees", "What each published theorem asks for."}, r.guarantees);
  visit(Field{"forecast", "None without labels."}, r.forecast);
  visit(Field{"spectrum", "All eigenvalues, ascending, if asked for."}.only_if(!r.spectrum.empty()),
        r.spectrum);
  visit(Field{"seconds"}, r.seconds);
  visit(Field{"peak_bytes", "Largest resident size of the process."}, r.peak_bytes);
}

/// Cost: three Cholesky factorisations of n^3/3 multiply-adds for lambda_min and its proof and the r = 1
/// bound, one inverse of a factor, n^2 d/2 for each kernel; memory 8 n (n + 1)/2 + 16 n d bytes and a little.
/// Of a tail: n^2 d/2 float32 multiply-adds a pass; 20 n d bytes, the data set's own among them, and 384 n.
/// Points that were left in their file (Dataset::stored) are read by blocks: three times, and for each block
/// of a pass those before it; that is the tail's alone. Throws std::invalid_argument for options out of
/// range, DataError for data that cannot be used (zero rows are named), ResourceError if the kernel does not
/// fit, Interrupted when cancelled.
CertifyResult certify(const Dataset& data, const CertifyOptions& options, Progress& progress);
/// The same with the heavy work done elsewhere, by processes of a Group (cluster/cluster.hpp).
CertifyResult certify(const Dataset& data, const CertifyOptions& options, Progress& progress, Engine& engine);
CertifyResult certify(const Dataset& data, const CertifyOptions& options = {});

/// Whether n points of d numbers are better left in their file (select_stored), since all that certify makes
/// of them would not fit into memory beside them.
bool certify_in_place(Index n, Index d, const CertifyOptions& options);

}  // namespace zeroloss
