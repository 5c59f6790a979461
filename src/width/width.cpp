#include "zeroloss/width/width.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/clock.hpp"
#include "network/prepare.hpp"
#include "width/search.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/theory/certify.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr double kFewSteps = 3e5;  // of gradient descent: wider networks than take as few are not drawn
constexpr Index kInShort = 1000;   // points, at most, whose pairs are looked at in short

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

std::string time_over(const WidthOptions& o) { return fmt::format("{:.3g} s were over", o.max_seconds); }

void add(std::string& text, const std::string& more) {
  if (!more.empty()) text += (text.empty() ? "" : "; ") + more;
}

// 1. Below this width almost no labels can be fitted by moving W. Where phi is homogeneous, v_j phi(w_j x) is
// the sign of v_j times phi of another w_j: then by moving v too.
void add_too_few(const Activation& phi, const std::optional<Index>& least, WidthResult& r) {
  WidthRow row{
      .id = "too_few", .title = "too few below", .about = "almost all real labels", .status = "proved"};
  if (!homogeneous(phi)) row.about += ", output weights fixed";
  if (least) row.width = static_cast<double>(*least);
  row.says = fmt::format("{} < n = {} distinct points, rank(X) <= {}",
                         least ? "m rank(X)" : "no width can: rank(X) (rank(X) + 1)/2", r.n_distinct, r.rank);
  row.source = "theory 13";
  r.rows.push_back(row);
}

std::string failures(const WidthResult& r) {
  std::vector<Index> widths;
  Index least = 0, most = 0;  // starts
  for (const MeasuredWidth& m : r.measured)
    if (!m.certified && m.tries > 0) {
      least = widths.empty() ? m.tries : std::min(least, m.tries);
      most = std::max(most, m.tries);
      widths.push_back(m.width);
    }
  if (widths.empty()) return "";
  std::ranges::sort(widths);
  return fmt::format("not at {}, from {}{} each", fmt::join(widths, ", "),
                     least < most ? fmt::format("{} to ", least) : "", count(most, "start", "starts"));
}

// Looks for the smallest width at which Gauss-Newton ends certified, all below `least` being too few: between
// those and `enough`, where one is known to do (0: none is), else by doubling until one does.
void search_measured(const Dataset& data, const WidthOptions& o, Index least, Index enough,
                     const Deadline& deadline, Progress& progress, WidthResult& r) {
  progress.stage("smallest width by Gauss-Newton");
  Index failed = least - 1, found = enough;
  while (deadline.left() > 0 && failed + 1 != found && failed < o.max_width) {
    const Index width = found > 0        ? (failed + found) / 2
                        : failed < least ? std::min(2 * least, o.max_width)
                                         : std::min(2 * failed, o.max_width);
    progress.note(fmt::format("width {}", width));
    r.measured.push_back(measure_width(data, width, o, deadline, progress, r.found));
    (r.measured.back().certified ? found : failed) = width;
  }
}

// 2. The smallest width at which an exact network was found.
WidthRow measured_row(const Dataset& data, const WidthOptions& o, const std::optional<Index>& least,
                      Progress& progress, WidthResult& r) {
  WidthRow row{.id = "measured", .title = "found", .about = "these labels", .status = "open"};
  row.source = "theory 7, 13";
  if (!least || *least > o.max_width) {
    row.says = "nothing was tried: all widths are too few";
    if (least) row.says += fmt::format(" up to {}", o.max_width);
    return row;
  }
  const Deadline deadline(o.max_seconds);
  search_measured(data, o, *least, static_cast<Index>(r.width_of("these_labels")), deadline, progress, r);
  const MeasuredWidth* best = nullptr;
  for (const MeasuredWidth& m : r.measured)
    if (m.certified && (best == nullptr || m.width < best->width)) best = &m;
  if (best != nullptr) {
    row.status = "measured";
    row.width = static_cast<double>(best->width);
    row.seed = best->seed;
    row.says = "certified";
  } else if (const WidthRow* these = r.row("these_labels")) {
    row.status = "measured";
    row.width = these->width;
    row.seed = these->seed;
    row.output_scale = these->output_scale;
    row.says = "the pairs of the row below";
  } else {
    row.says = "no exact network was found";
  }
  add(row.says, failures(r));
  if (deadline.left() <= 0) add(row.says, time_over(o));
  return row;
}

// 3. and 4. Networks of pairs: the least width of a proof, then twice as wide until so many steps suffice.
// Says what ended it early.
std::string search_pairs(const TrainingSet& set, const Activation& phi, Index least, double steps,
                         const WidthOptions& o, Progress& progress, WidthResult& r) {
  constexpr Index kOneByOne = 5;  // widths that are tried in turn before they grow by a fifth
  const Deadline deadline(o.max_seconds);
  progress.stage("widths of a proof");
  const Index most = o.max_width - o.max_width % 2;
  const CertifiedPoints points(set.X(), set.counts, unit_row_error(set.points.d()));
  Index tried = 0;
  for (Index width = std::min(2 * least, most), before = 0; width > before;) {
    if (deadline.left() <= 0) return time_over(o);
    progress.note(fmt::format("width {}", width));
    r.drawn.push_back(draw_width(set, points, phi, width, o, deadline, progress));
    before = width;
    if (r.drawn.back().any_scale && r.drawn.back().steps <= steps) break;
    const Index wider = r.drawn.back().any_scale ? 2 * width
                        : ++tried <= kOneByOne   ? width + 2
                                                 : width + 2 * (width / 10 + 1);
    width = std::min(wider, most);
  }
  return {};
}

// `why`: what stood in the way, or ended the search early.
void add_proved(const std::string& why, WidthResult& r) {
  const auto least =
      std::ranges::find_if(r.drawn, [](const DrawnWidth& w) { return w.any_scale.has_value(); });
  const bool proved = least != r.drawn.end();
  WidthRow these{.id = "these_labels",
                 .title = "enough for these",
                 .about = "these labels",
                 .status = proved ? "proved" : "open"};
  these.source = "theory 7, 13";
  if (!proved && !r.drawn.empty())
    these.says = fmt::format("no network of pairs of {} to {} units was proved", r.drawn.front().width,
                             r.drawn.back().width);
  if (proved) {
    these.width = static_cast<double>(least->width);
    these.seed = least->seed;
    these.says = fmt::format("pairs; {} of {} draws of full rank", least->full_rank, least->draws);
  }
  add(these.says, why);
  WidthRow any = these;
  any.id = "any_labels";
  any.title = "enough for any";
  any.about = fmt::format("any labels of length up to {}", decimal(r.norm_y, 4, Rounding::up));
  if (r.n_distinct < r.n) any.about += ", equal on equal points";
  if (proved) {
    any.output_scale = least->any_scale;
    any.step = least->step;
    any.steps = least->steps;
    these.output_scale = least->these_scale;
    these.step = least->these_step;
    these.steps = least->these_steps;
  }
  r.rows.push_back(these);
  r.rows.push_back(any);
}

// 5. Four units with biases for each of few groups of points, two of each sign of their output weights.
void add_biased(const Dataset& data, const TrainingSet& set, const Activation& phi, const WidthOptions& o,
                Progress& progress, WidthResult& r) {
  if (!phi.piecewise_linear() || phi.leak == 1.0) return;  // a kink is needed
  WidthRow row{.id = "biased", .title = "exists with biases", .about = "any labels", .status = "open"};
  row.source = "theory 13";
  if (r.n_distinct < r.n) row.about += ", equal on equal points";
  progress.stage("groups of points");
  const Deadline deadline(o.max_seconds);
  RowMatrix made;
  std::vector<Index> rows = set.distinct;
  if (rows.empty()) {
    rows.resize(static_cast<std::size_t>(data.n()));
    std::iota(rows.begin(), rows.end(), Index{0});
  }
  r.groups =
      biased_groups(exact_points(data, set.standardization, made), set.center, rows, o, deadline, progress);
  if (r.groups.empty()) {
    row.says = deadline.left() <= 0 ? time_over(o) : "some points are opposite to each other";
  } else {
    row.status = "proved";
    row.width = static_cast<double>(4 * r.groups.size());
    row.says = fmt::format(
        "for each of {} two units of positive and two of negative output weight; nothing of descent",
        count(static_cast<Index>(r.groups.size()), "group", "groups"));
    for (auto& group : r.groups)
      for (Index& sample : group) sample = data.records[static_cast<std::size_t>(sample)];
  }
  r.rows.push_back(row);
}

// 6. What the papers ask for, the least first.
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
    const std::string gives = theorem(g.id).gives;
    if (!g.width || !g.holds || gives == "kernel") continue;  // that alone fits nothing
    WidthRow row{.id = g.id,
                 .title = g.theorem,
                 .about = "these labels",
                 .status = g.verified ? "proved" : "computed"};
    if (gives == "fit") row.about = "any labels, by output weights";
    if (g.failure_probability)
      row.about += fmt::format(", but for probability {}", decimal(*g.failure_probability, 3, Rounding::up));
    row.width = g.width;
    row.says = "lambda from " + g.lambda_from;
    row.step = g.step;
    if (!g.flow) row.steps = g.steps;
    if (g.flow && g.steps) row.says += fmt::format(", time {}", decimal(*g.steps, 4, Rounding::up));
    row.source = g.theorem;
    row.lambda_bound = g.lambda_bound;
    rows.push_back(row);
  }
  std::ranges::stable_sort(rows, {}, [](const WidthRow& row) { return row.width.value_or(0); });
  r.rows.insert(r.rows.end(), rows.begin(), rows.end());
}

void conclude_width(WidthResult& r) {
  const std::string each = r.outputs > 1 ? " for each class" : "";
  const std::string points =
      r.n_distinct < r.n ? fmt::format(" on these {} distinct points", r.n_distinct) : "";
  const auto units = [&](const char* id) { return static_cast<Index>(r.width_of(id)); };
  r.conclusion = units("any_labels") > 0
                     ? fmt::format(
                           "{} hidden units{} are enough for any labels{}: gradient descent provably "
                           "fits them.",
                           with_commas(units("any_labels")), each, points)
                     : fmt::format(
                           "Pairs of hidden units, which gradient descent would fit to any labels{}, are "
                           "proved at no width.",
                           points);
  if (units("any_labels") == 0 && units("biased") > 0)
    r.conclusion += fmt::format("\nWith biases {} hidden units{} can represent any labels{}.",
                                with_commas(units("biased")), each, points);
  if (units("measured") > 0)
    r.conclusion +=
        fmt::format("\nThese labels were fitted exactly by {}{}.", with_commas(units("measured")), each);
  if (units("too_few") > 1)
    r.conclusion +=
        fmt::format("\nFewer than {}{} cannot{}, but for exceptional labels (those of two values may be).",
                    with_commas(units("too_few")), each,
                    homogeneous(activation(r.activation)) ? "" : " while output weights stay fixed");
  else if (units("too_few") == 0)
    r.conclusion =
        "No width can fit any but exceptional labels (those of two values may be) with fixed output weights.";
}

// Why nothing can be proved of pairs; empty if something may be.
std::string why_no_pairs(const std::optional<Index>& least, const WidthOptions& o) {
  if (o.draws == 0) return "no network was drawn";
  if (!least) return "J J^T is singular at every width";
  return 2 * *least > o.max_width ? fmt::format("pairs of full rank have {} units or more (`max_width={}`)",
                                                2 * *least, 2 * *least)
                                  : "";
}

void add_pairs(const TrainingSet& set, const Activation& phi, const std::optional<Index>& least, double steps,
               const WidthOptions& o, Progress& progress, WidthResult& r) {
  std::string why_not = why_no_pairs(least, o);
  if (why_not.empty()) {
    try {
      why_not = search_pairs(set, phi, least.value_or(1), steps, o, progress, r);
    } catch (const ResourceError& error) {  // the kernel of all points does not fit into memory
      why_not = error.what();
    }
  }
  add_proved(why_not, r);
}

// What the search is about. Returns the width below which is too few, if any width is not.
std::optional<Index> describe_points(const Dataset& data, const TrainingSet& set, const Activation& phi,
                                     WidthResult& r) {
  r.n = data.n();
  r.d = data.d();
  r.n_distinct = set.n_distinct;
  r.center = set.center;
  r.outputs = set.Y.cols();
  r.activation = phi.name;
  for (Index c = 0; c < r.outputs; ++c) r.norm_y = std::max(r.norm_y, norm_above(set.Y.col(c)));
  RowMatrix made;  // where the points are no others than those of the data, they are not copied
  r.rank = rank_bound(exact_points(data, set.standardization, made), set.center);
  return necessary_width(phi, r.n_distinct, r.rank);
}

// Those of widths_in_short().
std::vector<WidthRow> short_rows(const Dataset& data, const CertifyOptions& options,
                                 const CertifyResult& certified, Progress& progress) {
  if (data.task == Task::none || !certified.conflicts.empty() || options.network().deep()) return {};
  const Activation& phi = activation(options.activation);
  WidthResult r;
  r.n = data.n();
  r.n_distinct = certified.n_distinct;
  if (data.stored || r.n > kInShort) {  // nothing is prepared a second time
    RowMatrix made;
    r.rank = data.stored ? std::min(r.n_distinct, data.d())
                         : rank_bound(exact_points(data, standardization_for(data, options.normalize), made),
                                      certified.center);
    add_too_few(phi, necessary_width(phi, r.n_distinct, r.rank), r);
    return r.rows;
  }
  WidthOptions o;
  o.activation = options.activation;
  o.center = options.center;
  o.normalize = options.normalize;
  o.accuracy = options.accuracy;
  o.seed = options.seed;
  o.draws = 2;
  o.max_seconds = 10;
  const TrainingSet set = training_set(data, o.center, o.normalize);
  const auto least = describe_points(data, set, phi, r);
  add_too_few(phi, least, r);
  add_pairs(set, phi, least, INFINITY, o, progress, r);
  return r.rows;
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

void widths_in_short(const Dataset& data, const CertifyOptions& options, CertifyResult& certified,
                     Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  certified.widths = short_rows(data, options, certified, progress);
  certified.seconds += seconds_since(began);
  certified.peak_bytes = static_cast<double>(peak_memory_bytes());
}

WidthResult width(const Dataset& data, const WidthOptions& options, Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  check_width_options(options);
  const Activation& phi = activation(options.activation);
  progress.stage("preparing the points");
  const TrainingSet set = training_set(data, options.center, options.normalize);
  WidthResult r;
  const auto least = describe_points(data, set, phi, r);
  if (!set.conflicts.empty()) {
    r.conflicts = set.conflicts;
    r.conclusion = "No network can fit these labels on points divided by their length:\n" +
                   conflict_text(set.conflicts) + ".";
  } else {
    add_too_few(phi, least, r);
    add_pairs(set, phi, least, kFewSteps, options, progress, r);
    if (options.restarts > 0)
      r.rows.insert(r.rows.begin() + 1, measured_row(data, options, least, progress, r));
    add_biased(data, set, phi, options, progress, r);
    conclude_width(r);
    if (options.published) add_published(data, options, progress, r);
  }
  progress.finish();
  r.seconds = seconds_since(began);
  return r;
}

WidthResult width(const Dataset& data, const WidthOptions& options) {
  Progress silent;
  return width(data, options, silent);
}

}  // namespace zeroloss
