#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/storage/tensors.hpp"

/// Residual networks of width k that memorise n points: written down, not trained [HM, Thm 3.2]. Right at a
/// point means that the outputs which the network computes for it, in its own arithmetic, are right.
///
///     h_0 = A_0 x + b_0,   h_j = h_{j-1} + V_j relu(U_j h_{j-1} + s_j),   y^ = V relu(U h_l + s)
namespace zeroloss {

/// Such a network. Numbers are stored as doubles; for precision float32 each of them is a float.
struct Memorizer {
  std::string precision = "float64";  ///< float32 | float64: of its arithmetic, too
  RowMatrix A_0;                      ///< k x d, random
  Vector b_0 = {};                    ///< k, or empty = 0: the constant's weights, or what centres
  RowMatrix U, V;                     ///< l k x k: rows j k .. j k + k are U_{j+1}, V_{j+1}
  Vector s;                           ///< l k
  RowMatrix U_out;                    ///< p x k
  Vector s_out;                       ///< p
  RowMatrix V_out;                    ///< r x p
  Task task = Task::none;
  std::vector<std::string> class_names = {};  ///< r names; empty unless classification
  Encoding encoding = {};                     ///< of the rows of a table; empty: points are numbers

  Index hidden() const { return A_0.rows(); }                                  ///< k
  Index blocks() const { return A_0.rows() > 0 ? U.rows() / A_0.rows() : 0; }  ///< l
  Index d() const { return A_0.cols(); }
  Index outputs() const { return V_out.rows(); }  ///< r
  Index parameters() const;                       ///< numbers in all of the above
};
template <Is<Memorizer> T, class Visitor>
void fields(T& n, const Visitor& visit) {
  visit(Field{"precision", "float32 | float64: of its arithmetic, too."}, n.precision);
  visit(Field{"A_0", "k x d."}, n.A_0);
  visit(Field{"b_0", "k, or empty = 0."}, n.b_0);
  visit(Field{"U", "l k x k."}, n.U);
  visit(Field{"V", "l k x k."}, n.V);
  visit(Field{"s", "l k."}, n.s);
  visit(Field{"U_out", "p x k."}, n.U_out);
  visit(Field{"s_out", "p."}, n.s_out);
  visit(Field{"V_out", "r x p."}, n.V_out);
  visit(Field{"task", "none | regression | classification."}, n.task);
  visit(Field{"class_names", "Of the outputs; empty unless classification."}, n.class_names);
  visit(Field{"encoding"}, n.encoding);
}

struct MemorizeOptions {
  /// norm_ordered: works for all points that differ (theory 11). paper: the one of [HM, App. B], for classes,
  /// whose conditions on norms and distances are checked. integer: for classes and points that are integers,
  /// or multiples of a power of two, of 24 bits; all numbers of the network are integers, so that one forward
  /// pass is a proof.
  std::string construction = "norm_ordered";
  /// k >= 1; real-valued targets need k >= r, more than two classes k >= 2. Default: the first of 2, 4, 8, ..
  /// (up to 512) whose network keeps `margin` and is right at every point; see also MemorizeAttempt.
  std::optional<Index> hidden = {};
  std::string precision = "float64";  ///< float32 | float64
  /// In (0, 1/4]: no network with a smaller one is accepted. Default: 1e-3 for float32, 1e-9 for float64, and
  /// where no network keeps that, those that come nearest to it are tried: then verification alone decides,
  /// as where `hidden` is given.
  std::optional<double> margin = {};
  /// > 0. A real-valued target counts as reached where no output is off by more than `tolerance` times the
  /// largest |target|. Default: 1e-3 for float32, 1e-6 for float64.
  std::optional<double> tolerance = {};
  std::uint64_t seed = 0;  ///< of A_0 and codes, [0, 2^53)
};
template <Is<MemorizeOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"construction",
              "norm_ordered (any points that differ), paper (Hardt and Ma's, whose conditions are checked) "
              "or integer "
              "(points of whole numbers; every sum is exact)"}
            .under("Network")
            .of("norm_ordered|paper|integer"),
        o.construction);
  visit(Field{"hidden",
              "Hidden width, >= 1 [the first of 2, 4, 8, .. that keeps `margin` and is right at every point]"}
            .under("Network"),
        o.hidden);
  visit(Field{"precision", "Of the network and its check: float64 or float32"}.under("Network").of(
            "float64|float32"),
        o.precision);
  visit(
      Field{"margin",
            "Least relative distance of a neuron's threshold, in (0, 0.25] [1e-9, for float32 1e-3, if that "
            "can be; with `hidden` none]"}
          .under("Network"),
      o.margin);
  visit(Field{"tolerance",
              "Error at which a real-valued target counts as reached, relative to the largest [1e-6, for "
              "float32 1e-3]"}
            .under("Network"),
        o.tolerance);
  visit(Field{"seed", "Of A_0 and codes"}, o.seed);
}

/// memorized: right at every point, by a forward pass. not_separated: no network of this width with the
/// margin asked for. not_verified: the network is wrong at some points, in its own arithmetic.
enum class MemorizeStatus { memorized, not_separated, not_verified };
std::string name(MemorizeStatus status);

/// A network that was tried.
struct MemorizeAttempt {
  Index hidden = 0;
  /// A_0 x: linear. A_0 (x, 1): constant, where a point is 0 or next to it. A_0 (x - mean): centred, where
  /// the mean hides the differences.
  std::string first_layer;
  double min_margin = 0;  ///< 0 if points are separated by no more than rounding
  Index correct = -1;     ///< points that are right; -1 where verification was pointless
};
template <Is<MemorizeAttempt> T, class Visitor>
void fields(T& a, const Visitor& visit) {
  visit(Field{"hidden"}, a.hidden);
  visit(Field{"first_layer", "linear | constant | centred."}, a.first_layer);
  visit(Field{"min_margin"}, a.min_margin);
  visit(
      Field{"correct", "Points that are right; -1 where verification was pointless."}.only_if(a.correct >= 0),
      a.correct);
}

struct MemorizeResult {
  std::string conclusion;  ///< the answer in a sentence
  MemorizeStatus status = MemorizeStatus::not_separated;
  Index n = 0, d = 0, r = 0;                     ///< points, features, outputs
  Index n_distinct = 0;                          ///< equal points with equal targets count once
  Index hidden = 0, blocks = 0, parameters = 0;  ///< k, ceil(n_distinct/k), all numbers of the network
  Index nonzero = 0;                             ///< of these
  double theorem_parameters = 0;                 ///< n ln n + r^2: Theorem 3.2 allows a constant times that
  Index correct = 0;           ///< of n. Classes: the label's output is positive and larger than all others
  Index proved_exact = 0;      ///< of n that are proved to be right in exact arithmetic
  Index proved_any_order = 0;  ///< and in `precision`, sums in any order, multiply-adds fused or not
  /// In exact arithmetic no output is further from its target, proved; rounded up. Infinite where one has no
  /// bound.
  double proved_error = std::numeric_limits<double>::infinity();
  /// Real-valued targets: with so much added to V, in Frobenius norm, the network has exactly these targets
  /// in exact arithmetic, proved; rounded up. Infinite where there is no proof, and for classes.
  double exact_within = std::numeric_limits<double>::infinity();
  /// No computed output is further from its target, classes being unit vectors; rounded up. Infinite without
  /// a network and where an output overflows.
  double max_error = 0;
  /// Lower bound, rounding included, of (||z||^2 - t)/||z||^2 and (t - p)/||z||^2 over all neurons, t the
  /// threshold and p what it has to be silent on: half of the least relative gap, but for how t is stored.
  double min_margin = 0;
  double margin = 0;  ///< the one asked for; 0 = none
  /// The two points that hold the margin down (paper: the first pair that violates its conditions); fewer if
  /// a code takes their place.
  std::vector<Sample> closest;
  std::vector<double> block_margins;   ///< of each block
  std::vector<Sample> wrong;           ///< at most the first 20
  std::vector<MemorizeAttempt> tried;  ///< in this order; the last one is the network
  std::optional<Memorizer> network;    ///< of the last one tried; none if points are not separated
  double build_s = 0, verify_s = 0;    ///< of all widths tried
  double seconds = 0;                  ///< of all, the search for a first layer included
};
template <Is<MemorizeResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion"}, r.conclusion);
  visit(Field{"status", "memorized | not_separated | not_verified."}, r.status);
  visit(Field{"n"}, r.n);
  visit(Field{"d"}, r.d);
  visit(Field{"r", "Outputs."}, r.r);
  visit(Field{"n_distinct"}, r.n_distinct);
  visit(Field{"correct", "Of n."}, r.correct);
  visit(Field{"hidden", "k."}, r.hidden);
  visit(Field{"blocks"}, r.blocks);
  visit(Field{"parameters"}, r.parameters);
  visit(Field{"nonzero", "Numbers of the network that are not 0."}, r.nonzero);
  visit(Field{"theorem_parameters", "n ln n + r^2."}, r.theorem_parameters);
  visit(Field{"proved_exact", "Of n: proved to be right in exact arithmetic."}, r.proved_exact);
  visit(Field{"proved_any_order",
              "Of n: proved to be right in `precision`, sums in any order, multiply-adds fused or not."},
        r.proved_any_order);
  visit(Field{"proved_error",
              "Bound of |y^ - y| of any output and point in exact arithmetic; infinite if one has none."},
        r.proved_error);
  visit(
      Field{"exact_within",
            "Real-valued targets: a network with exactly these, in exact arithmetic, differs in V alone, by "
            "so much at most in Frobenius norm, proved; infinite where there is no proof, and for classes."}
          .only_if(std::isfinite(r.exact_within)),
      r.exact_within);
  visit(Field{"max_error", "Largest |y^ - y| of any computed output and point, rounded up."}, r.max_error);
  visit(Field{"min_margin", "Lower bound of every neuron's margin, rounding included."}, r.min_margin);
  visit(Field{"margin", "The one asked for; 0 = none."}.only_if(r.margin > 0), r.margin);
  visit(Field{"closest", "The two samples that hold the margin down."}, r.closest);
  visit(Field{"block_margins"}.apart(), r.block_margins);
  visit(Field{"wrong", "At most the first 20."}, r.wrong);
  visit(Field{"tried"}, r.tried);
  visit(Field{"network", "None if points are not separated."}.apart(), r.network);
  visit(Field{"build_s"}, r.build_s);
  visit(Field{"verify_s"}, r.verify_s);
  visit(Field{"seconds", "Of all, the search for a first layer included."}, r.seconds);
}

/// Builds the network and runs every point through it, in the network's own precision. `Y` (n x r) are
/// real-valued targets that take the place of data.y.
///
/// Cost: n d k for h_0; n^2 k/2 multiply-adds to build, n^2 k to verify. Memory: linear in n (d + k + r). The
/// result does not depend on the number of threads.
/// Throws std::invalid_argument naming an option that is out of range, DataError for data without targets,
/// bad data, numbers too large or small for the precision, and equal points with different targets (naming
/// them), ResourceError if memory does not suffice, Interrupted once cancelled.
MemorizeResult memorize(const Dataset& data, const MemorizeOptions& options, Progress& progress);
MemorizeResult memorize(const Dataset& data, const Matrix& Y, const MemorizeOptions& options,
                        Progress& progress);
MemorizeResult memorize(const Dataset& data, const MemorizeOptions& options = {});

/// What a memoriser gives for points, n x d: outputs of doubles, n x r, and how far those of real arithmetic
/// and those in its precision, with sums in any order and multiply-adds fused or not, are from these at most;
/// infinite where no bound is had. Points of a float32 network are rounded to floats first.
struct MemorizerOutputs {
  Matrix f, exact_error, own_error;
};

/// n l k^2 multiply-adds in float32. Throws Interrupted once cancelled.
MemorizerOutputs enclosed_outputs(const Memorizer& network, const RowMatrix& X, Progress& progress);

/// Outputs for points, n x d -> n x r, in the network's precision: those of a point depend neither on the
/// other points nor on threads, and are the same on all processors with fused multiply-add. Throws DataError
/// if the number of features differs or a value is not finite; Interrupted once cancelled.
Matrix predict(const Memorizer& network, const Eigen::Ref<const RowMatrix>& X, const Progress& progress = {});

/// The classes of outputs (n x r): the largest one's, the first of equal ones.
std::vector<Index> largest_outputs(const Matrix& outputs);

/// Writes a safetensors file: tensors A_0, b_0 (if it is there), U and V (l x k x k), s (l x k), U_out,
/// s_out, V_out, F32 or F64 by precision; metadata kind = memorizer, format_version = 1, precision, task,
/// class_names (a JSON list). `extra` is kept beside these; what it says under one of their keys is left out.
/// Throws std::invalid_argument for a network that load_memorizer would refuse, and as write_tensors does.
void save_model(const std::filesystem::path& path, const Memorizer& network, const Metadata& extra = {});

/// What save_model wrote: the same numbers to the last bit. Throws DataError naming the file and what is
/// wrong with it.
Memorizer load_memorizer(const std::filesystem::path& path);

/// Writes the network as ONNX: input "x" [batch, d]; output "y" [batch, r]; for classification also "label"
/// [batch], int64, the index into class_names. All in the network's precision. The blocks are slices of three
/// stacked tensors that one Scan passes over, so that the graph has a dozen nodes whatever their number.
/// Other programs sum inner products in another order: where predict() keeps a margin of m, their rounding is
/// magnified by about 1/m. Throws as save_model and OnnxModel::write do.
void export_onnx(const std::filesystem::path& path, const Memorizer& network, const Metadata& extra = {});

}  // namespace zeroloss
