#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/tables/table.hpp"

/// Networks of any number of layers, plain and residual, with K outputs (theory 16).
namespace zeroloss {

/// h_l of h = h_{l-1}, which has p numbers. Plain: h_l = s phi(W h + b). Residual (Hardt and Ma):
/// h_l = h + s (U phi(W h + b) + bU).
struct Layer {
  std::string activation = "relu";  ///< phi: one of layer_activations()
  double leak = 0.01;               ///< of leaky_relu, 0 <= leak < 1, exactly this double
  RowMatrix W = {};                 ///< m x p
  Vector b = {};                    ///< m, or empty: no bias
  bool residual = false;
  RowMatrix U = {};  ///< residual: p x m, or empty: the identity, m = p. Plain: empty
  Vector bU = {};    ///< residual: p, or empty
  double scale = 1;  ///< s, a constant

  Index inputs() const { return W.cols(); }
  Index units() const { return W.rows(); }
  Index outputs() const { return residual ? W.cols() : W.rows(); }
  Index parameters() const { return W.size() + b.size() + U.size() + bU.size(); }
};
template <Is<Layer> T, class Visitor>
void fields(T& l, const Visitor& visit) {
  visit(Field{"activation"}, l.activation);
  visit(Field{"leak", "Of leaky_relu."}, l.leak);
  visit(Field{"W", "m x p."}, l.W);
  visit(Field{"b", "m, or empty: no bias."}, l.b);
  visit(Field{"residual"}, l.residual);
  visit(Field{"U", "p x m, or empty: the identity."}, l.U);
  visit(Field{"bU", "p, or empty."}, l.bU);
  visit(Field{"scale"}, l.scale);
}

/// A type that every number of the points has to be of, as the file of a network says.
struct PointType {
  std::string type;  ///< "float32", "int64", ..
  std::string by;    ///< "node 'c' (Cast -> x1) rounds to this type"
};
template <Is<PointType> T, class Visitor>
void fields(T& t, const Visitor& visit) {
  visit(Field{"type"}, t.type);
  visit(Field{"by"}, t.by);
}

/// f(x) = V h_L + c of h_0 = (x - shift - shift_low) o factor, with `constant` behind it and divided by its
/// length, where it has these.
struct DeepNetwork {
  Vector shift = {}, factor = {};  ///< d each, or empty: h_0 = x
  Vector shift_low = {};           ///< what shift lost when it was rounded to double; d, or empty
  std::vector<Layer> layers = {};  ///< L >= 1
  RowMatrix V = {};                ///< K x p
  Vector c = {};                   ///< K, or empty
  Task task = Task::none;          ///< it was trained for
  std::vector<std::string> class_names = {};
  double constant = 0;     ///< one feature more of this value, behind the others; 0: none
  bool unit = false;       ///< divide by the length: points x and 2 x are one
  Encoding encoding = {};  ///< of the rows of tables; empty: it is asked about numbers
  bool single = false;     ///< its file is in float32, to which whoever runs it rounds points and sums
  /// The post-processing in its file, which is left out here: it maps f to the file's outputs and keeps the
  /// largest the largest, so that f decides the class but is no prediction of targets. save_model() omits it.
  std::string behind = {};
  std::vector<PointType> point_types = {};  ///< others are an error; not written either

  Index depth() const { return static_cast<Index>(layers.size()); }
  Index features() const { return layers.front().inputs() - (constant != 0 ? 1 : 0); }  ///< d
  Index outputs() const { return V.rows(); }
};
template <Is<DeepNetwork> T, class Visitor>
void fields(T& n, const Visitor& visit) {
  visit(Field{"shift", "Subtracted from points first; empty: nothing is."}, n.shift);
  visit(Field{"shift_low", "Subtracted with it: what it lost when it was rounded to double; empty: nothing."},
        n.shift_low);
  visit(Field{"factor", "Then they are multiplied by it."}, n.factor);
  visit(Field{"layers", "The hidden ones."}, n.layers);
  visit(Field{"V", "K x p."}, n.V);
  visit(Field{"c", "K, or empty."}, n.c);
  visit(Field{"task", "none | regression | classification."}, n.task);
  visit(Field{"class_names", "Of the outputs; empty unless classification."}, n.class_names);
  visit(Field{"constant", "Appended to every point then; 0: nothing is."}, n.constant);
  visit(Field{"unit", "Points are divided by their length then."}, n.unit);
  visit(Field{"encoding"}, n.encoding);
  visit(Field{"single", "It is run in float32, to which points and sums are rounded then."}, n.single);
  visit(
      Field{"behind",
            "What its file or module does with the outputs and is left out, such as a sigmoid: they say the "
            "class, and nothing of targets. Empty: nothing; not saved."},
      n.behind);
  visit(Field{"point_types"}, n.point_types);
}

/// The phi of a layer: the library's own, leaky_relu with the layer's leak, or "identity", z itself. Throws
/// std::invalid_argument listing the names for any other.
Activation activation_of(const Layer& layer);
std::vector<std::string> layer_activations();

/// Throws std::invalid_argument naming the layer whose sizes do not agree with those before it, or that has
/// numbers that are not finite or an unknown activation.
void check(const DeepNetwork& network);

/// Whether every weight is a number.
bool all_finite(const DeepNetwork& network);

/// Numbers that training may move: those of W, b, U, bU, V and c.
Index parameters(const DeepNetwork& network);

/// "3 layers of 256 tanh units, 10 outputs, 150794 weights".
std::string describe(const DeepNetwork& network);

/// f of each row of X, n x d -> n x K, in double. Throws DataError if the number of features differs or a
/// value is not finite; Interrupted once cancelled.
Matrix predict(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
               const Progress& progress = {});

}  // namespace zeroloss
