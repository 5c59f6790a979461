#include "zeroloss/width/width.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/rounding.hpp"
#include "network/prepare.hpp"
#include "width/search.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/text.hpp"
#include "zeroloss/theory/certify.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr double kFewSteps = 3e5;  // of gradient descent: wider networks than take as few are not drawn

void check_width_options(const WidthOptions& o) {
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument("width: " + what);
  };
  require(o.draws >= 0, fmt::format("draws must be >= 0; got {}", o.draws));
  require(o.restarts >= 0, fmt::format("restarts must be >= 0; got {}", o.restarts));
  require(o.max_width >= 2, fmt::format("max_width must be >= 2; got {}", o.max_width));
  require(o.accuracy > 0 && o.accuracy < 1, fmt::format("accuracy must be in (0, 1); got {}", o.accuracy));
  require(o.failure_probability > 0 && o.failure_probability < 1,
          fmt::format("failure_probability must be in (0, 1); got {}", o.failure_probability));
  require(o.max_seconds > 0 && std::isfinite(o.max_seconds),
          fmt::format("max_seconds must be > 0; got {}", o.max_seconds));
  constexpr std::uint64_t kSeeds = std::uint64_t{1} << 53;
  require(o.seed < kSeeds - static_cast<std::uint64_t>(std::max(o.draws, o.restarts)),
          "seed must be below 2^53, and so must those that follow it");
}

std::string too_long(const WidthOptions& o) { return fmt::format("; {:.3g} s were over", o.max_seconds); }

// 1. Below this width almost no labels can be fitted.
void add_too_few(const std::optional<Index>& least, WidthResult& r) {
  WidthRow row{.id = "too_few", .about = "almost all real labels", .status = "proved"};
  if (least) row.width = static_cast<double>(*least);
  row.says = least ? fmt::format("m rank(X) < n, rank(X) <= {}", r.rank)
                   : fmt::format("no width can: rank(X) (rank(X) + 1)/2 < n, rank(X) <= {}", r.rank);
  row.source = "theory 13";
  r.rows.push_back(row);
}

std::string failures(const std::vector<MeasuredWidth>& measured) {
  std::string text;
  for (const MeasuredWidth& m : measured)
    if (!m.certified && m.tries > 0)
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", m.width, m.tries);
  return text;
}

// 2. The smallest width at which an exact network was found: doubling from `first` until there is one, then
// bisection down to `least`. Failures take longest.
WidthRow measure(const Dataset& data, const WidthOptions& o, Index least, Index first, Progress& progress,
                 WidthResult& r) {
  const Deadline deadline(o.max_seconds);
  progress.stage("smallest width by Gauss-Newton");
  Index failed = least - 1, found = 0;
  for (Index width = std::min(std::max(least, first), o.max_width);
       deadline.left() > 0 && failed + 1 != found;) {
    progress.note(fmt::format("width {}", width));
    r.measured.push_back(measure_width(data, width, o, deadline, progress));
    (r.measured.back().certified ? found : failed) = width;
    if (found == 0 && failed == o.max_width) break;
    width = found > 0 ? (failed + found) / 2 : std::min(2 * failed, o.max_width);
  }
  WidthRow row{.id = "measured", .about = "these labels", .status = "measured"};
  row.says = "no exact network was found";
  if (found > 0) {
    const auto best = std::ranges::find_if(
        r.measured, [&](const MeasuredWidth& m) { return m.certified && m.width == found; });
    row.width = static_cast<double>(found);
    row.seed = best->seed;
    row.says = "certified";
  }
  if (const std::string widths = failures(r.measured); !widths.empty())
    row.says += "; failed (times): " + widths;
  if (deadline.left() <= 0) row.says += too_long(o);
  row.source = "theory 7, 13";
  return row;
}

Index even(double width) { return 2 * static_cast<Index>(std::ceil(width / 2)); }

// 3. and 4. Networks of pairs: the least width of a proof, then twice as wide until few steps suffice. Says
// why it ended without one.
std::string search_pairs(const TrainingSet& set, const Activation& phi, Index from, const WidthOptions& o,
                         Progress& progress, WidthResult& r) {
  constexpr Index kOneByOne = 5;  // widths that are tried in turn before they grow by a fifth
  const Deadline deadline(o.max_seconds);
  progress.stage("widths of a proof");
  Index tried = 0;
  for (Index width = std::max<Index>(2, 2 * from); width <= o.max_width;) {
    if (deadline.left() <= 0) return too_long(o);
    progress.note(fmt::format("width {}", width));
    r.drawn.push_back(draw_width(set, phi, width, o, deadline, progress));
    if (r.drawn.back().any_scale) {
      if (r.drawn.back().steps <= kFewSteps) break;
      width *= 2;
    } else {
      width = ++tried <= kOneByOne ? width + 2 : even(1.2 * static_cast<double>(width));
    }
  }
  return {};
}

void add_proved(const std::string& why_not, const WidthOptions& o, WidthResult& r) {
  const auto least =
      std::ranges::find_if(r.drawn, [](const DrawnWidth& w) { return w.any_scale.has_value(); });
  WidthRow these{.id = "these_labels", .about = "these labels", .status = "proved", .says = why_not};
  WidthRow any = these;
  any.id = "any_labels";
  any.about = fmt::format("any labels of length up to {}", decimal(r.norm_y, 4, Rounding::up));
  for (WidthRow* row : {&these, &any}) {
    row->source = "theory 7, 13";
    if (least == r.drawn.end()) continue;
    row->width = static_cast<double>(least->width);
    row->seed = least->seed;
    row->steps = least->steps;
    row->output_scale = row == &any ? least->any_scale : least->these_scale;
    const double ratio = *least->any_scale / *row->output_scale;  // ||J|| grows with the output scale
    row->step = least->step * ratio * ratio * kDown;
    row->says = fmt::format("pairs; {} of {} draws of full rank", least->full_rank, least->draws);
  }
  if (least == r.drawn.end() && (why_not.empty() || why_not.starts_with(";")))
    these.says = any.says = r.drawn.empty()
                                ? fmt::format("more than {} units are needed", o.max_width) + why_not
                                : fmt::format("no network of pairs of {} to {} units was proved",
                                              r.drawn.front().width, r.drawn.back().width) +
                                      why_not;
  r.rows.push_back(these);
  r.rows.push_back(any);
}

// 5. and 6. What the papers ask for, the least first.
void add_published(const Dataset& data, const WidthOptions& o, Progress& progress, WidthResult& r) {
  CertifyOptions options;
  options.activation = o.activation;
  options.center = o.center;
  options.normalize = o.normalize;
  options.failure_probability = o.failure_probability;
  options.accuracy = o.accuracy;
  options.seed = o.seed;
  const CertifyResult certified = certify(data, options, progress);
  std::vector<WidthRow> rows;
  for (const Guarantee& g : certified.guarantees) {
    if (!g.width || !g.holds) continue;
    WidthRow row{.id = g.id, .about = "these labels", .status = g.verified ? "proved" : "computed"};
    if (g.failure_probability)
      row.about += fmt::format(", probability >= {}", decimal(1 - *g.failure_probability, 4, Rounding::down));
    row.width = g.width;
    row.says = "lambda from " + g.lambda_from;
    row.step = g.step;
    row.steps = g.steps;
    row.source = g.theorem;
    rows.push_back(row);
  }
  std::ranges::stable_sort(rows, {}, [](const WidthRow& row) { return row.width.value_or(0); });
  r.rows.insert(r.rows.end(), rows.begin(), rows.end());
}

void conclude_width(WidthResult& r) {
  const char* each = r.outputs > 1 ? " for each class" : "";
  const auto units = [&](const char* id) { return static_cast<Index>(r.width_of(id)); };
  r.conclusion = "No width is proved to be enough for any labels.";
  if (units("any_labels") > 0)
    r.conclusion =
        fmt::format("{} hidden units{} are enough for any labels: gradient descent provably fits them.",
                    with_commas(units("any_labels")), each);
  if (units("measured") > 0)
    r.conclusion += fmt::format("\nThese labels were fitted exactly by {}.", with_commas(units("measured")));
  if (units("too_few") > 1)
    r.conclusion +=
        fmt::format("\nFewer than {} cannot fit any but exceptional labels.", with_commas(units("too_few")));
}

// Why nothing can be proved of pairs; empty if something may be.
std::string why_no_pairs(const Activation& phi, const std::optional<Index>& least, const WidthOptions& o) {
  if (o.draws == 0) return "no network was drawn";
  if (!phi.tabulated) return fmt::format("computed, not verified: the accuracy of {} is not known", phi.name);
  if (!phi.piecewise_linear() && !phi.smooth()) return fmt::format("sup |phi''| of {} is infinite", phi.name);
  return least ? "" : "J J^T is singular at every width";
}

}  // namespace

const WidthRow* WidthResult::row(std::string_view id) const {
  const auto found = std::ranges::find(rows, id, &WidthRow::id);
  return found != rows.end() && found->width ? &*found : nullptr;
}

double WidthResult::width_of(std::string_view id) const {
  const WidthRow* found = row(id);
  return found == nullptr ? 0 : found->width.value_or(0);
}

WidthResult width(const Dataset& data, const WidthOptions& options, Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  check_width_options(options);
  const Activation& phi = activation(options.activation);
  progress.stage("preparing the points");
  const TrainingSet set = training_set(data, options.center, options.normalize);
  WidthResult r;
  r.n = data.n();
  r.d = data.d();
  r.n_distinct = set.n_distinct;
  r.outputs = set.Y.cols();
  r.activation = phi.name;
  for (Index c = 0; c < r.outputs; ++c) r.norm_y = std::max(r.norm_y, norm_above(set.Y.col(c)));
  RowMatrix made;  // where the points are no others than those of the data, they are not copied
  r.rank = rank_bound(exact_points(data, set.standardization, made), set.center);
  const auto least = necessary_width(phi, r.n_distinct, r.rank);
  add_too_few(least, r);
  if (!set.conflicts.empty()) {
    r.conclusion = "No network can fit these labels on points divided by their length:\n" +
                   conflict_text(set.conflicts) + ".";
  } else {
    std::string why_not = why_no_pairs(phi, least, options);
    if (why_not.empty()) {
      try {
        why_not = search_pairs(set, phi, least.value_or(1), options, progress, r);
      } catch (const ResourceError& error) {  // the kernel of all points does not fit into memory
        why_not = error.what();
      }
    }
    add_proved(why_not, options, r);
    if (options.restarts > 0) {
      const Index fewest = least.value_or(1), proved = static_cast<Index>(r.width_of("any_labels"));
      r.rows.insert(r.rows.begin() + 1,
                    measure(data, options, fewest, proved > 0 ? proved : 2 * fewest, progress, r));
    }
    conclude_width(r);
    if (options.published) add_published(data, options, progress, r);
  }
  progress.finish();
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return r;
}

WidthResult width(const Dataset& data, const WidthOptions& options) {
  Progress silent;
  return width(data, options, silent);
}

}  // namespace zeroloss
