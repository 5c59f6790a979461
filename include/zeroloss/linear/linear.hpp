#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/linear/factorize.hpp"
#include "zeroloss/linear/linear_resnet.hpp"
#include "zeroloss/storage/tensors.hpp"

/// The whole question: how small can the layers of an exact network be, does gradient descent find one, and
/// what does depth change?
namespace zeroloss {

struct LinearOptions {
  std::vector<Index> layers{10};    ///< depths to study, each >= 1
  std::string reflection = "auto";  ///< of orient(): auto | flip | augment
  bool train = true;                ///< gradient descent too, from A = 0
  DescentOptions descent{};
};
template <Is<LinearOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"layers", "Depth, or a range of depths FIRST:LAST[:STRIDE]"}.under("Network"), o.layers);
  visit(Field{"reflection",
              "Where det R < 0: flip the labels (odd d), augment x and y by a coordinate, or auto: flip for "
              "odd d"}
            .under("Problem")
            .of("auto|flip|augment"),
        o.reflection);
  visit(Field{"train", "Gradient descent too, from A = 0"}
            .turned_off("Factorise only")
            .under("Gradient descent"),
        o.train);
  fields(o.descent, visit);
}

/// One depth.
struct DepthResult {
  Index layers = 0;
  std::vector<Factorization> factorizations;  ///< paper, polar, logarithm; networks at the last depth only
  std::optional<DescentResult> descent;       ///< if trained; its network at the last depth only

  const Factorization& smallest() const;  ///< with the least max_norm; up to rounding, the first
  bool small() const;                     ///< one exists whose max_norm is below 1
};

struct LinearResult {
  std::string conclusion;    ///< the answer in two or three sentences
  bool interrupted = false;  ///< then `depths` ends early
  Index d = 0, n = 0;        ///< of the problem as given
  MapSummary map;            ///< of R as given
  std::string treatment;     ///< none | flipped | augmented, see OrientedProblem
  LinearProblem problem;     ///< the one that was solved
  /// The least l at which polar or logarithm is proved to have max ||A_i|| < 1, where the first depth has
  /// no such factorisation; else, and if there is none, 0.
  Index layers_needed = 0;
  std::vector<DepthResult> depths;
  double seconds = 0;
};
template <Is<LinearResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion"}, r.conclusion);
  visit(Field{"interrupted"}, r.interrupted);
  visit(Field{"n", "Points; 0 where the map was given."}.only_if(r.n > 0), r.n);
  visit(Field{"d", "Of the problem as given."}, r.d);
  fields(r.map, visit);
  visit(Field{"treatment", "none | flipped | augmented."}, r.treatment);
  visit(Field{"layers_needed",
              "The least depth at which every ||A_i|| < 1 is proved, where the first depth has none; else 0."}
            .only_if(r.layers_needed > 0),
        r.layers_needed);
  visit(Field{"depths"}.apart(), r.depths);
  visit(Field{"seconds"}, r.seconds);
}

/// Throws std::invalid_argument naming an option that is out of range; DataError if R is numerically
/// singular, with its rank; ResourceError if memory does not suffice. Cancelled through `progress` it returns
/// what is done, or throws Interrupted if no depth is. Cost of a depth: 6 l products of d x d matrices, and 3
/// l a step.
LinearResult linear(const LinearProblem& problem, const LinearOptions& options, Progress& progress);
LinearResult linear(const LinearProblem& problem, const LinearOptions& options = {});

/// Writes the networks of the last depth as l x d x d tensors of float64, layer 1 first, called paper, polar,
/// logarithm and descent as far as they exist, and R of the problem that was solved; metadata kind = linear,
/// format_version = 1, layers, treatment and `extra`. Throws as write_tensors does.
void save_linear(const std::filesystem::path& path, const LinearResult& result, const Metadata& extra = {});

}  // namespace zeroloss
