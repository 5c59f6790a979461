#include "sweep/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include "base/choices.hpp"
#include "base/field_text.hpp"
#include "sources/recipe.hpp"
#include "sources/source_kind.hpp"
#include "train/fit_options.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/download/fetch.hpp"

namespace zeroloss {
using namespace internal;
namespace {

void require(bool met, const std::string& what) {
  if (!met) throw std::invalid_argument("sweep: " + what);
}

template <class T, class Allowed>
void check_axis(const char* name, const std::vector<T>& values, const Allowed& allowed, const char* range) {
  for (const T& value : values)
    require(allowed(value), fmt::format("{} must be {}; got {}", name, range, value));
  require(std::set<T>(values.begin(), values.end()).size() == values.size(),
          fmt::format("{} has the same value twice", name));
}

// As options of fit, which knows what they may be.
void check_texts(const char* name, const std::vector<std::string>& values, const FitOptions& fit,
                 std::string FitOptions::*option) {
  for (const std::string& value : values) {
    FitOptions asked = fit;
    asked.*option = value;
    checked(asked);
  }
  check_axis(
      name, values, [](const std::string&) { return true; }, "");
}

double cell_count(const SweepAxes& axes) {
  double count = 1;
  fields(axes, [&](const Field&, const auto& values) {
    count *= static_cast<double>(std::max<std::size_t>(1, values.size()));
  });
  return count;
}

template <class T>
std::vector<T> values_or(const std::vector<T>& axis, const T& fixed) {
  return axis.empty() ? std::vector<T>{fixed} : axis;
}

Index usual_width(const SweepOptions& o) { return o.fit.width > 0 ? o.fit.width : kUsualWidth; }

std::string text(const Cell& cell) {
  std::string text;
  fields(cell, [&](const Field& field, const auto& value) {
    if (cell.depth == 1 && std::string_view(field.name) == "depth") return;  // seeds of old stay
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, text_of(value));
  });
  return text;
}

// Named sets that are not compiled in are read from a folder.
bool needs_cache(const std::string& source) {
  return std::ranges::find(known_sets(), source, &KnownSet::name) != known_sets().end();
}

// What a trial reads: DATA, with what is missing of a generated one filled in, and what is kept of it.
struct Request {
  std::string source;
  ReadOptions read;
};

Request request(const std::string& source, const SweepOptions& o, const Cell& cell, std::uint64_t seed) {
  Request result{source, o.read};
  auto& [text, read] = result;
  read.seed = seed;
  if (!o.axes.noise.empty()) read.labels = fmt::format("noise:{}", cell.noise);
  if (leaves_open(source, "n")) {
    text = with(text, "n", cell.n);
  } else if (!o.axes.n.empty()) {
    read.n = cell.n;
    read.shuffle = true;
  }
  if (leaves_open(source, "d"))
    text = with(text, "d", cell.d);
  else if (!o.axes.d.empty())
    read.d = cell.d;
  return result;
}

FitOptions fit_of(const SweepOptions& options, const Cell& cell, std::uint64_t seed) {
  FitOptions fit = options.fit;
  fit.width = cell.width;
  fit.depth = cell.depth;
  fit.activation = cell.activation;
  fit.scaling = cell.scaling;
  fit.step = cell.step;
  fit.tolerance = cell.tolerance;
  fit.seed = seed;
  return fit;
}

// The same whoever computes it.
void mix(std::vector<Job>& jobs, Index round) {
  Random random(static_cast<std::uint64_t>(round), Stream::shuffle);
  shuffle(jobs, random);
}

}  // namespace

SweepOptions internal::checked(const std::string& source, SweepOptions o) {
  if (!o.fit.start.drawn() || o.fit.start.paired() || o.fit.output_scale != 1 || o.fit.test.data)
    throw std::invalid_argument(
        "sweep: every trial draws its weights and fits all points: no start, no test");
  check_choices("fit", o.fit);
  if (optimizer(o.fit.optimizer).infinite)
    throw std::invalid_argument(
        fmt::format("sweep: {} has neither weights nor steps whose trials could differ", o.fit.optimizer));
  o.fit = checked(o.fit);
  const SweepAxes& a = o.axes;
  const auto positive = [](auto value) { return value >= 1; };
  check_axis("n", a.n, positive, ">= 1");
  check_axis("d", a.d, positive, ">= 1");
  check_axis("width", a.width, positive, ">= 1");
  check_axis("depth", a.depth, positive, ">= 1");
  check_axis(
      "noise", a.noise, [](double p) { return p >= 0 && p <= 1; }, "in [0, 1]");
  check_axis(
      "tolerance", a.tolerance, [](double t) { return t > 0 && std::isfinite(t); }, "> 0");
  check_axis(
      "activation", a.activation, [](const std::string& name) { return activation(name).tabulated; },
      "known");
  check_texts("scaling", a.scaling, o.fit, &FitOptions::scaling);
  check_texts("step", a.step, o.fit, &FitOptions::step);
  require(o.trials >= 1, fmt::format("trials must be >= 1; got {}", o.trials));
  require(!o.adaptive || o.max_trials >= o.trials,
          fmt::format("max_trials must be >= trials = {}; got {}", o.trials, o.max_trials));
  require(a.noise.empty() || o.read.labels == "given", "noise says what labels says: leave one of them out");
  require(a.n.empty() || o.read.n == 0, "n is an axis: leave it out of the data's options");
  require(a.d.empty() || o.read.d == 0, "d is an axis: leave it out of the data's options");
  require(o.fit.stop == "tolerance", "trials stop at their tolerance; leave stop out");
  require(o.fit.checkpoint.empty() && !o.fit.resume,
          "checkpoint and resume are not for trials: give a store");
  require(!a.n.empty() || !leaves_open(source, "n"), "the number of points is missing: add `n`");
  require(!a.d.empty() || !leaves_open(source, "d"), "the dimension is missing: add `d`");
  const double cells = cell_count(a), trials = cells * static_cast<double>(o.trials);
  require_memory(cells * sizeof(Cell) + trials * (2 * sizeof(TrialRow) + sizeof(Job)),
                 fmt::format("sweep: {:.3g} trials of {:.3g} cells", trials, cells),
                 "choose fewer values or trials");
  return o;
}

std::vector<Cell> internal::grid(const SweepOptions& o) {
  const SweepAxes& a = o.axes;
  std::vector<Cell> cells;
  for (const Index n : values_or(a.n, o.read.n))
    for (const Index d : values_or(a.d, o.read.d))
      for (const Index width : values_or(a.width, usual_width(o)))
        for (const auto& activation : values_or(a.activation, o.fit.activation))
          for (const auto& scaling : values_or(a.scaling, o.fit.scaling))
            for (const auto& step : values_or(a.step, o.fit.step))
              for (const double noise : values_or(a.noise, 0.0))
                for (const double tolerance : values_or(a.tolerance, o.fit.tolerance))
                  for (const Index depth : values_or(a.depth, o.fit.depth))
                    cells.push_back({n, d, width, activation, scaling, step, noise, tolerance, depth});
  return cells;
}

Store::Identity internal::identity(const std::string& source, const std::string& digest,
                                   const SweepOptions& o) {
  Store::Identity parts{{"data", source}, {"SHA-256 of the data", digest}};
  // What an axis has values for is told by these.
  const auto add = [&](const Field& field, const auto& value) {
    std::string values = text_of(value);
    fields(o.axes, [&](const Field& axis, const auto& list) {
      if (std::string_view(axis.name) == field.name && !list.empty()) values = text_of(list);
    });
    parts.emplace_back(field.name, values);
  };
  fields(o.read, [&](const Field& field, const auto& value) {
    if (field.affects_run) add(field, value);
  });
  FitOptions fit = o.fit;
  fit.width = usual_width(o);
  fields(fit, [&](const Field& field, const auto& value) {
    if (field.trial) add(field, value);
  });
  // The sweep's own, and the axes that are no option of fit or of the reading.
  fields(o, [&](const Field& field, const auto& value) {
    const auto told = [&](const auto& part) { return part.first == field.name; };
    if (!field.affects_run || std::ranges::any_of(parts, told)) return;
    const bool unused = !o.adaptive && field.name == std::string_view("max_trials");
    parts.emplace_back(field.name, unused ? "" : text_of(value));
  });
  return parts;
}

std::uint64_t internal::seed_of(const Cell& cell, Index trial, std::uint64_t sweep_seed) {
  const std::string digest = sha256(fmt::format("{} trial={} seed={}", text(cell), trial, sweep_seed));
  std::uint64_t first = 0;
  std::from_chars(digest.data(), digest.data() + 16, first, 16);
  return first >> 11;
}

TrialRun trial_run(const std::string& source, const SweepOptions& options, std::size_t number, Index trial) {
  const SweepOptions o = checked(source, options);
  const Cell cell = grid(o).at(number);
  const std::uint64_t seed = seed_of(cell, trial, o.read.seed);
  auto [text, read] = request(source, o, cell, seed);
  return {std::move(text), std::move(read), fit_of(o, cell, seed)};
}

std::string fit_command(const std::string& source, const SweepOptions& options, std::size_t number,
                        Index trial) {
  const auto [data, read, fit] = trial_run(source, options, number, trial);
  std::string command = "zeroloss fit " + shell_word(data);
  // What differs from the defaults of fit; of a cell's values all.
  const auto add = [&]<class Value>(const Field& field, const Value& value, const Value& usual) {
    bool axis = false;
    fields(options.axes,
           [&](const Field& f, const auto&) { axis |= f.name == std::string_view(field.name); });
    const bool shown = axis && std::string_view(field.name) != "depth";
    if (value == usual && (!shown || value == Value{})) return;
    command += " " + shell_command(flag_words(field, value));
  };
  fields_beside(read, ReadOptions{}, [&](const Field& field, const auto& value, const auto& usual) {
    if (field.trial && field.name != std::string_view("seed")) add(field, value, usual);
  });
  fields_beside(fit, FitOptions{}, [&](const Field& field, const auto& value, const auto& usual) {
    if (field.trial) add(field, value, usual);
  });
  command += " --seed " + text_of(fit.seed);
  if (needs_cache(data)) command += " --cache " + shell_word(read.cache);
  return command;
}

internal::TrialMaker::TrialMaker(const std::string& source, const Dataset* data, const SweepOptions& options)
    : source_(source), options_(options) {
  if (data != nullptr) real_ = source_of(*data);
  if (real_ || is_generated(source)) return;
  real_ = open_source(source, options.read);
  if (real_->table) return;  // in memory
  std::vector<Index> all(static_cast<std::size_t>(real_->n));
  std::iota(all.begin(), all.end(), Index{0});
  require_memory(8.0 * static_cast<double>(real_->n) * static_cast<double>(real_->d), source,
                 "sweep a smaller file");
  real_->points = rows_of(real_->points(all));
}

Dataset internal::TrialMaker::data(const Cell& cell, std::uint64_t seed) const {
  const auto [text, read] = request(source_, options_, cell, seed);
  if (real_) return select(*real_, read);
  return select(open_source(text, {.seed = seed}), read);
}

FitOptions internal::TrialMaker::fit(const Cell& cell, std::uint64_t seed) const {
  return fit_of(options_, cell, seed);
}

Round internal::current_round(const std::vector<std::vector<std::optional<TrialRow>>>& rows,
                              const SweepOptions& o) {
  std::vector<Index> target(rows.size(), o.trials);
  Round round;
  while (true) {
    round.trials = 0;
    for (std::size_t c = 0; c < rows.size(); ++c) {
      round.trials += target[c];
      for (Index t = 0; t < target[c]; ++t)
        if (t >= static_cast<Index>(rows[c].size()) || !rows[c][static_cast<std::size_t>(t)])
          round.missing.push_back({static_cast<Index>(c), t});
    }
    if (!round.missing.empty() || !o.adaptive) break;
    bool grown = false;
    for (std::size_t c = 0; c < rows.size(); ++c) {
      const auto successes = std::count_if(rows[c].begin(), rows[c].begin() + target[c],
                                           [](const auto& row) { return succeeded(row->trial.status); });
      if (successes == 0 || successes == target[c] || target[c] >= o.max_trials) continue;
      target[c] = std::min(target[c] + o.trials, o.max_trials);
      grown = true;
    }
    if (!grown) break;
    ++round.number;
  }
  mix(round.missing, round.number);
  return round;
}

}  // namespace zeroloss
