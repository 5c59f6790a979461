#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/theory/certify.hpp"
#include "zeroloss/theory/width_row.hpp"

/// How wide a two-layer network has to be: below which width almost no labels can be fitted, at which width
/// these were, and at which width gradient descent provably fits them, or any others (theory 13).
namespace zeroloss {

struct FitResult;

struct WidthOptions {
  std::string activation = "relu";  ///< a name that activation() knows
  bool center = false;              ///< subtract the mean point first
  bool normalize = true;            ///< rows of any length; if not, one off 1 by more than 1e-12 is an error
  Index draws = 5;                  ///< networks of pairs drawn at each width, >= 0; 0: nothing is proved
  Index restarts = 3;               ///< of Gauss-Newton at each width, >= 0; 0: nothing is measured
  Index max_width = 4096;           ///< hidden units that either search tries at most, >= 2
  double accuracy = 1e-6;           ///< relative misfit that step counts refer to, in (0, 1)
  double failure_probability = 0.01;  ///< of the published guarantees, in (0, 1)
  double max_seconds = 60;            ///< of either search, > 0; what was found until then is the answer
  bool published = true;              ///< also what the theorems of the papers ask for: the work of certify
  std::uint64_t seed = 0;             ///< of the first network, [0, 2^53)
};
template <Is<WidthOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"activation", "Activation of the hidden units"}.under("Network"), o.activation);
  visit(Field{"center", "Subtract the mean point before normalising"}.under("Network"), o.center);
  visit(Field{"normalize",
              "Divide rows by their length; if not, refuse rows whose length is off 1 by more than 1e-12"}
            .turned_off("Refuse rows whose length is off 1 by more than 1e-12")
            .under("Network"),
        o.normalize);
  visit(
      Field{"draws", "Networks drawn at each width, of which the best is taken; 0 = nothing is proved"}.under(
          "Search"),
      o.draws);
  visit(Field{"restarts", "Of Gauss-Newton at each width; 0 = nothing is measured"}.under("Search"),
        o.restarts);
  visit(Field{"max_width", "Most hidden units that are tried"}.under("Search"), o.max_width);
  visit(Field{"accuracy", "Relative misfit that step counts refer to, in (0, 1)"}.under("Search"),
        o.accuracy);
  visit(Field{"failure_probability", "Allowed for the published guarantees, in (0, 1)"}.under("Search"),
        o.failure_probability);
  visit(Field{"max_seconds", "Most seconds of either search; what was found until then is the answer"}
            .under("Search")
            .aside(),
        o.max_seconds);
  visit(Field{"published", "Also what the theorems of the papers ask for"}
            .turned_off("Leave out what the theorems of the papers ask for: it takes the work of certify")
            .under("Search"),
        o.published);
  visit(Field{"seed", "Of the first network: an integer from 0 to 2^53 - 1"}, o.seed);
}

/// Networks of pairs at one width.
struct DrawnWidth {
  Index width = 0;
  Index draws = 0;                         ///< networks drawn
  Index full_rank = 0;                     ///< of them those with lambda_min(J J^T) > 0 proved
  std::uint64_t seed = 0;                  ///< of the best: least output scale for any labels
  double lambda_min = 0;                   ///< proved lower bound of lambda_min(J J^T) at output scale 1
  double condition = 0;                    ///< proved upper bound of the condition number of J J^T
  std::optional<double> these_scale = {};  ///< output scale at which descent is proved for the labels given
  std::optional<double> any_scale = {};    ///< and for any labels as long
  double step = 0;        ///< of gradient descent at any_scale: this or any smaller one; three digits
  double steps = 0;       ///< of it that suffice for the accuracy, rounded up
  double these_step = 0;  ///< the same at these_scale
  double these_steps = 0;
};
template <Is<DrawnWidth> T, class Visitor>
void fields(T& d, const Visitor& visit) {
  visit(Field{"width"}, d.width);
  visit(Field{"draws", "Networks drawn."}, d.draws);
  visit(Field{"full_rank", "Of them those with lambda_min(J J^T) > 0 proved."}, d.full_rank);
  visit(Field{"seed", "Of the best: least output scale for any labels."}, d.seed);
  visit(Field{"lambda_min", "Proved lower bound of lambda_min(J J^T) at output scale 1."}, d.lambda_min);
  visit(Field{"condition", "Proved upper bound of the condition number of J J^T."}, d.condition);
  visit(Field{"these_scale", "Output scale at which descent is proved for the labels given."}, d.these_scale);
  visit(Field{"any_scale", "Output scale at which it is proved for any labels as long."}, d.any_scale);
  visit(Field{"step", "Of gradient descent at any_scale: this or any smaller one."}, d.step);
  visit(Field{"steps", "Of it that suffice for the accuracy, rounded up."}, d.steps);
  visit(Field{"these_step", "The same at these_scale."}, d.these_step);
  visit(Field{"these_steps"}, d.these_steps);
}

/// A width at which Gauss-Newton was tried.
struct MeasuredWidth {
  Index width = 0;
  Index tries = 0;         ///< from weights drawn anew
  bool certified = false;  ///< the last of them ended certified
  std::uint64_t seed = 0;  ///< of the last
};
template <Is<MeasuredWidth> T, class Visitor>
void fields(T& m, const Visitor& visit) {
  visit(Field{"width"}, m.width);
  visit(Field{"tries", "From weights drawn anew."}, m.tries);
  visit(Field{"certified", "The last of them ended certified."}, m.certified);
  visit(Field{"seed", "Of the last."}, m.seed);
}

struct WidthResult {
  std::string conclusion;  ///< the answer in a sentence or two
  Index n = 0, d = 0, n_distinct = 0;
  Index outputs = 1;  ///< networks: one for each class where there are more than two
  std::string activation;
  Index rank = 0;                       ///< proved upper bound of rank(X)
  Center center = {};                   ///< what was subtracted from the points; empty if nothing was
  double norm_y = 0;                    ///< the largest ||y|| of an output, rounded up
  std::vector<WidthRow> rows;           ///< from what cannot do to what must; then the papers' by width
  std::vector<DrawnWidth> drawn;        ///< ascending
  std::vector<MeasuredWidth> measured;  ///< in the order of trial
  /// Samples of the row `biased`, a group each: linearly independent, and no other point in their span. Two
  /// units of positive and two of negative output weight fit a group.
  std::vector<std::vector<Index>> groups;
  std::vector<std::vector<Sample>> conflicts;  ///< equal points with different labels: no width is enough
  std::shared_ptr<const FitResult>
      found;  ///< what Gauss-Newton ended with at the width of the row `measured`
  double seconds = 0;

  /// The row of this id; null if there is none, or if it has no width.
  const WidthRow* row(std::string_view id) const;
  /// Its width; 0 if there is none.
  double width_of(std::string_view id) const;
};
template <Is<WidthResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion", "The answer in a sentence or two."}, r.conclusion);
  visit(Field{"n", "Points."}, r.n);
  visit(Field{"d", "Features."}, r.d);
  visit(Field{"n_distinct", "Distinct points."}, r.n_distinct);
  visit(Field{"outputs", "Networks: one for each class where there are more than two."}, r.outputs);
  visit(Field{"activation"}.apart(), r.activation);
  visit(Field{"rank", "Proved upper bound of rank(X)."}, r.rank);
  visit(Field{"norm_y", "The largest ||y|| of an output, rounded up."}, r.norm_y);
  visit(Field{"rows", "From what cannot do to what must; then the papers' by width."}, r.rows);
  visit(Field{"drawn", "Networks of pairs, by width."}, r.drawn);
  visit(Field{"measured", "Widths at which Gauss-Newton was tried."}, r.measured);
  visit(
      Field{
          "groups",
          "Samples of the row biased, a group each: linearly independent, and no other point in their span. "
          "Two units of positive and two of negative output weight fit a group."},
      r.groups);
  visit(Field{"conflicts", "Equal points with different labels: no width is enough."}, r.conflicts);
  visit(Field{"seconds"}, r.seconds);
}

/// Throws std::invalid_argument for options out of range, DataError for data without targets or that cannot
/// be used, ResourceError, Interrupted. A network of pairs that is looked at costs up to eight Cholesky
/// factorisations of n^3/3 multiply-adds, for each further output two more, and n^2 (m + d); 16 n^2 + 24 n m
/// bytes.
WidthResult width(const Dataset& data, const WidthOptions& options, Progress& progress);
WidthResult width(const Dataset& data, const WidthOptions& options = {});

/// Completes certify's answer: CertifyResult::widths become the rows of `width` that take seconds at most,
/// and the time and memory that finding them takes is part of the answer's. too_few; and of up to 1,000
/// points these_labels and any_labels, from two draws a width up to the first that is proved. Empty without
/// labels, and where no network can fit them.
void widths_in_short(const Dataset& data, const CertifyOptions& options, CertifyResult& certified,
                     Progress& progress);

}  // namespace zeroloss
