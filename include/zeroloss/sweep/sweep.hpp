#pragma once
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/network/descents.hpp"
#include "zeroloss/processes/process_group.hpp"
#include "zeroloss/train/fit.hpp"

/// Phase diagrams: how often training reaches its target, over a grid of the options of fit [OS, section 4].
namespace zeroloss {

/// The axes that a grid can have, in the order in which cells are numbered (the last runs fastest), each with
/// its values; an axis without values stays at what `fit` and `read` say.
struct SweepAxes {
  std::vector<Index> n = {};  ///< points: of a generated set, or a random subset of a real one
  std::vector<Index> d = {};  ///< dimension: of a generated set, or of a random subspace of a real one
  std::vector<Index> width = {};
  std::vector<std::string> activation = {}, scaling = {};
  std::vector<std::string> step = {};  ///< as in FitOptions
  std::vector<double> noise = {};      ///< probability that a label is replaced, [0, 1]
  std::vector<double> tolerance = {};  ///< relative misfit that counts as success, > 0
  std::vector<Index> depth = {};       ///< hidden layers, as in FitOptions
};
template <Is<SweepAxes> T, class Visitor>
void fields(T& a, const Visitor& visit) {
  visit(Field{"n", "Points: of a generated set, or of a random subset [all]"}, a.n);
  visit(Field{"d", "Dimension: of a generated set, or of a random subspace [all]"}, a.d);
  visit(Field{"width", "Hidden units, >= 1 [1024]"}, a.width);
  visit(Field{"activation", "Names of activations [relu]"}, a.activation);
  visit(Field{"scaling", "Output weights: ntk, balanced [ntk]"}, a.scaling);
  visit(Field{"step", optimizer_help("step axis")}, a.step);
  visit(Field{"noise", "Probability that a label is replaced, in [0, 1] [none]"}, a.noise);
  visit(Field{"tolerance", optimizer_help("tolerance axis")}, a.tolerance);
  visit(Field{"depth", "Hidden layers, or residual blocks, >= 1 [1]"}, a.depth);
}

struct SweepOptions {
  /// Of each trial; precision is float32 by the command's default. checkpoint and resume unused.
  FitOptions fit = {};
  ReadOptions read = {};  ///< of each trial; `seed` is the sweep's, from which each trial has one of its own
  SweepAxes axes = {};
  Index trials = 10;       ///< of each cell, >= 1; of an adaptive sweep, of each cell in a round
  bool adaptive = false;   ///< go on in rounds with the cells where some trials succeeded and some did not ..
  Index max_trials = 100;  ///< .. up to so many of each, >= trials
  bool certify = false;    ///< also try to prove each trial's final weights (costs n^3 flops)
  /// SQLite database with a row a trial in its table `trials`. If it exists the sweep in it is
  /// continued; several processes may work on one at the same time. Empty = in memory.
  std::filesystem::path store = {};
};
template <Is<SweepOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  fields(o.axes, visit);
  visit(Field{"trials", "Of each cell; with `adaptive`, in each round"}.under("Trials"), o.trials);
  visit(Field{"adaptive", "Go on with the cells where some trials succeed and some do not, round by round"}
            .under("Trials"),
        o.adaptive);
  visit(Field{"max_trials", "With `adaptive`, most trials of a cell"}.under("Trials"), o.max_trials);
  visit(Field{"certify", "Also try to prove every trial's final weights"}.under("Trials"), o.certify);
  visit(Field{"store", "SQLite database of the trials; empty = in memory"}.apart(), o.store);
}

/// One point of the grid.
struct Cell {
  Index n = 0, d = 0;  ///< of a grid: 0 = all that the data has; of results: as they were
  Index width = 0;
  std::string activation, scaling, step;
  double noise = 0, tolerance = 0;
  Index depth = 1;
};
template <Is<Cell> T, class Visitor>
void fields(T& c, const Visitor& visit) {
  visit(Field{"n"}, c.n);
  visit(Field{"d"}, c.d);
  visit(Field{"width"}, c.width);
  visit(Field{"activation"}, c.activation);
  visit(Field{"scaling"}, c.scaling);
  visit(Field{"step"}, c.step);
  visit(Field{"noise"}, c.noise);
  visit(Field{"tolerance"}, c.tolerance);
  visit(Field{"depth"}, c.depth);
}

/// An interval of 95 % confidence.
struct Interval {
  double low = 0, high = 1;
};
template <Is<Interval> T, class Visitor>
void fields(T& i, const Visitor& visit) {
  visit(Field{"low"}, i.low);
  visit(Field{"high"}, i.high);
}

/// E. B. Wilson's (1927) for a probability; [0, 1] without trials.
Interval wilson(Index successes, Index trials);

struct CellResult {
  Cell cell;
  Index trials = 0, successes = 0;  ///< success: status converged or certified
  Index diverged = 0, certified = 0;
  double probability = 0;  ///< successes/trials
  Interval interval;
  double mean_steps = 0,
         median_misfit = 0;  ///< over its trials; the misfit of diverged ones counts as infinite
};
template <Is<CellResult> T, class Visitor>
void fields(T& c, const Visitor& visit) {
  fields(c.cell, visit);
  visit(Field{"trials"}, c.trials);
  visit(Field{"successes", "Trials that ended converged or certified."}, c.successes);
  visit(Field{"probability", "successes/trials."}.only_if(c.trials > 0), c.probability);
  fields(c.interval, visit);
  visit(Field{"diverged"}, c.diverged);
  visit(Field{"certified"}, c.certified);
  visit(Field{"mean_steps"}.only_if(c.trials > 0), c.mean_steps);
  visit(Field{"median_misfit"}.only_if(c.trials > 0), c.median_misfit);
}

/// Where along the y axis the success probability crosses 1/2, for one value of the x axis: by linear
/// interpolation of the monotone probabilities nearest to the measured ones (weighted by trials). Empty where
/// they do not cross. The interval reaches from the last y before it whose Wilson interval excludes 1/2 to
/// the first y behind it whose does; it is open where there is none.
struct Transition {
  std::optional<double> y, low, high;
};
template <Is<Transition> T, class Visitor>
void fields(T& t, const Visitor& visit) {
  visit(Field{"y", "None where it does not cross."}, t.y);
  visit(Field{"low"}, t.low);
  visit(Field{"high"}, t.high);
}

/// One heat map: two axes vary, the others are fixed. Where a single axis varies, `x` is empty and there is
/// one column; where none does, neither has a name and there is a single cell.
struct Panel {
  /// The fixed values of further varying axes: "activation relu, n 100"; empty if there are none.
  std::string title;
  std::string x, y;                             ///< names of axes; y is numeric if any varying axis is
  std::vector<std::string> x_values, y_values;  ///< as written in the options
  std::vector<std::size_t> cells;       ///< x by x, numbers into SweepResult::cells: [x * y_values + y]
  std::vector<Transition> transitions;  ///< for each x; empty unless y is numeric
};
template <Is<Panel> T, class Visitor>
void fields(T& p, const Visitor& visit) {
  visit(Field{"title", "The fixed values of further varying axes."}, p.title);
  visit(Field{"x", "Name of an axis; empty if there is one column."}, p.x);
  visit(Field{"y", "Name of an axis; empty if there is a single cell."}, p.y);
  visit(Field{"x_values"}, p.x_values);
  visit(Field{"y_values"}, p.y_values);
  visit(Field{"cells", "Numbers into the result's cells, x by x."}.apart(), p.cells);
  visit(Field{"transitions", "For each x; empty unless y is numeric."}.apart(), p.transitions);
}

struct SweepResult {
  std::string conclusion;
  bool complete = false;  ///< all trials are done; false if interrupted
  bool last = false;      ///< complete, and no other process works on the store any more
  std::string source;     ///< DATA as given; of a data set, its name
  bool named = true;      ///< whether `source` is what read_dataset takes; false for a data set
  std::string digest;     ///< of its file; empty for generated data
  std::string engine;     ///< the device that trained; empty of this process
  std::vector<CellResult> cells;
  std::vector<Panel> panels;
  Index trials = 0;  ///< in all
  Index before = 0;  ///< of these, done before this call or by other processes
  Index rounds = 1;
  double seconds = 0;  ///< of this call
};
template <Is<SweepResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion"}, r.conclusion);
  visit(Field{"complete", "All trials are done."}, r.complete);
  visit(Field{"last", "Complete, and no other process works on the store any more."}.apart(), r.last);
  visit(Field{"source", "The data as given; of arrays, what they were called."}, r.source);
  visit(Field{"named"}.apart(), r.named);
  visit(Field{"digest", "Of its file; empty for generated data."}, r.digest);
  visit(Field{"engine", "The device that trained; empty of the processor."}.only_if(!r.engine.empty()),
        r.engine);
  visit(Field{"trials", "In all."}, r.trials);
  visit(Field{"before", "Of these, done before this call or by other processes."}, r.before);
  visit(Field{"rounds"}, r.rounds);
  visit(Field{"seconds", "Of this call."}, r.seconds);
  visit(Field{"panels"}, r.panels);
  visit(Field{"cells"}, r.cells);
}

/// A trial as a run of fit: fit(read_dataset(source, read), fit).
struct TrialRun {
  std::string source;
  ReadOptions read;
  FitOptions fit;
};

/// The run that a trial of a cell (its number in the grid) is. Of a data set, select(source_of(data), read)
/// are its points. Throws std::out_of_range for a number that is not in the grid.
TrialRun trial_run(const std::string& source, const SweepOptions& options, std::size_t cell, Index trial);

/// The same as a command: `zeroloss fit` with everything that decides its course.
std::string fit_command(const std::string& source, const SweepOptions& options, std::size_t cell,
                        Index trial);

/// Trains every trial of every cell. A trial is what `fit` makes of the same data and options with the
/// trial's seed, and that seed depends on the cell's values, the trial's number and read.seed only: no result
/// depends on order, threads, processes or interruptions. Trials run one a thread. A diverged trial is a
/// failure, not an error.
///
/// `source` as in read_dataset; of sphere:.. without n or d the axes give them. Throws std::invalid_argument
/// naming an option that is out of range or differs from the stored sweep's, what fit and read_dataset throw
/// for a trial, DataError for a store that is none of ours, ResourceError if it cannot be written; trials
/// done until then are kept. Cancelled, it returns what is done.
/// The trials of a `group` are handed out to its processes one by one, to each thread of theirs that has done
/// with its last; the leader keeps the store. The others serve().
SweepResult sweep(const std::string& source, const SweepOptions& options, Progress& progress,
                  const Group& group = {});
SweepResult sweep(const std::string& source, const SweepOptions& options = {});

/// The same of points in memory: trials take theirs from `data` as they would from a file.
SweepResult sweep(const Dataset& data, const SweepOptions& options, Progress& progress,
                  const Group& group = {});

/// The same with networks that the engine trains, as many at once as it takes: relu, one hidden
/// layer, optimizer gd, a step that is a number or auto; std::invalid_argument names what it does not go
/// with. Data, first weights and steps are those of the processor, bit for bit; trials take steps that round
/// otherwise, so that one may end a few steps earlier or later, and another way where it is near the edge of
/// doing so. A store does not know who computed its rows: a sweep may go on elsewhere.
SweepResult sweep(const std::string& source, const SweepOptions& options, Progress& progress,
                  DescentEngine& engine);

/// What the other processes of a group do for it.
Services sweep_services();

}  // namespace zeroloss
