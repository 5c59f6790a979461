#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/activation.hpp"

/// The two-layer network f(x) = sum_j v_j phi(<w_j, x>): hidden weights W are trained, output weights v stay
/// as they were drawn (theory 1).
namespace zeroloss {

/// One output of a network, of m hidden units on points of R^d.
struct TwoLayer {
  RowMatrix W;  ///< m x d, w_j a row
  Vector v;     ///< m
};
template <Is<TwoLayer> T, class Visitor>
void fields(T& t, const Visitor& visit) {
  visit(Field{"W", "m x d, w_j a row."}, t.W);
  visit(Field{"v", "m."}, t.v);
}

/// What a fresh output starts from: W of i.i.d. N(0, 1) entries, and v by the scaling:
/// "ntk" [DZPS]: v_j = +-1/sqrt(m), signs fair and independent;
/// "balanced" [OS]: the first floor(m/2) are +norm_y/sqrt(m n), the last floor(m/2) minus that, for odd m the
/// middle one is 0.
/// `index` is the number of the output (class): each has numbers of its own. A wider network of the same seed
/// begins with the rows of W of a narrower one. precision "float32" rounds W and v to floats.
/// v is then multiplied by output_scale > 0. Throws std::invalid_argument: another scaling or precision, m <
/// 1, d < 1, n < 1, balanced with norm_y = 0, an output_scale that is not positive and finite.
struct Draw {
  Index width = 1024, d = 1;
  std::string scaling = "ntk";
  std::string precision = "float64";
  Index n = 1;        ///< points; for balanced
  double norm_y = 1;  ///< ||y|| of this output's targets; for balanced
  std::uint64_t seed = 0;
  std::uint64_t index = 0;
  double output_scale = 1;
};
TwoLayer draw(const Draw& start);

/// Its numbers as those of the precision: float32 rounds them to floats, which are infinite beyond 3.4e38.
TwoLayer rounded(TwoLayer network, const std::string& precision);

/// f(X), n numbers, of one output at points (rows of X) as they are. Sizes have to agree. Throws Interrupted
/// once cancelled, else nothing.
Vector outputs(const TwoLayer& network, const Activation& activation, const RowMatrix& X,
               const Progress& progress = {});

/// A trained (or drawn) network with what it needs to be used: one output for regression and for two classes
/// (the sign decides), c outputs for c > 2 classes (the largest decides).
struct Network {
  std::string activation = "relu";
  std::string scaling = "ntk";
  std::string precision = "float64";  ///< float32: every weight is a float
  std::vector<TwoLayer> outputs;      ///< all of the same m and d
  Center center = {};                 ///< subtracted from every point first; empty = nothing is
  bool normalize = true;              ///< then every point is divided by its length
  Task task = Task::none;
  std::vector<std::string> class_names = {};  ///< of the data it was trained on; empty for regression
  Standardization standardization = {};       ///< before all this; its origin is `center`
  Encoding encoding = {};  ///< of the rows of a table before that; empty: points are numbers

  Index width() const { return outputs.front().W.rows(); }
  Index d() const { return outputs.front().W.cols(); }  ///< of the points that the neurons see
  Index features() const { return d() - (standardization.bias != 0 ? 1 : 0); }  ///< of the points given
};
template <Is<Network> T, class Visitor>
void fields(T& n, const Visitor& visit) {
  visit(Field{"activation"}, n.activation);
  visit(Field{"scaling"}, n.scaling);
  visit(Field{"precision", "float32: every weight is a float."}, n.precision);
  visit(Field{"outputs", "All of the same m and d."}, n.outputs);
  visit(Field{"center"}, n.center);
  visit(Field{"normalize", "Then every point is divided by its length."}, n.normalize);
  visit(Field{"task", "none | regression | classification."}, n.task);
  visit(Field{"class_names", "Empty for regression."}, n.class_names);
  visit(Field{"standardization"}, n.standardization);
  visit(Field{"encoding"}, n.encoding);
}

/// Outputs for raw points, n x d -> n x outputs, in double whatever the precision. Throws DataError if the
/// number of features differs, if a value is not finite, or if a row is zero and rows are normalised;
/// Interrupted once cancelled.
Matrix predict(const Network& network, const Eigen::Ref<const RowMatrix>& X, const Progress& progress = {});

/// Class indices that outputs (n x outputs) stand for: sign (0 or 1; an output of 0 is class 1) or argmax
/// (the first of equal ones).
std::vector<Index> predicted_classes(const Matrix& outputs);

}  // namespace zeroloss
