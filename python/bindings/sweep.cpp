#include "zeroloss/sweep/sweep.hpp"

#include "bindings.hpp"
#include "zeroloss/present/sweep.hpp"

namespace zeroloss::python {
namespace {

using Swept = Answer<SweepResult, SweepOptions>;

void bind_options(nb::module_& m) {
  nb::class_<SweepAxes>(m, "SweepAxes")
      .def(nb::init<>())
      .def_rw("n", &SweepAxes::n)
      .def_rw("d", &SweepAxes::d)
      .def_rw("width", &SweepAxes::width)
      .def_rw("activation", &SweepAxes::activation)
      .def_rw("scaling", &SweepAxes::scaling)
      .def_rw("step", &SweepAxes::step)
      .def_rw("noise", &SweepAxes::noise)
      .def_rw("tolerance", &SweepAxes::tolerance);
  nb::class_<SweepOptions>(m, "SweepOptions")
      .def(nb::init<>())
      .def_rw("fit", &SweepOptions::fit)
      .def_rw("read", &SweepOptions::read)
      .def_rw("axes", &SweepOptions::axes)
      .def_rw("trials", &SweepOptions::trials)
      .def_rw("adaptive", &SweepOptions::adaptive)
      .def_rw("max_trials", &SweepOptions::max_trials)
      .def_rw("certify", &SweepOptions::certify)
      .def_rw("store", &SweepOptions::store);
}

void bind_parts(nb::module_& m) {
  nb::class_<Cell>(m, "Cell", "One point of the grid.")
      .def_ro("n", &Cell::n)
      .def_ro("d", &Cell::d)
      .def_ro("width", &Cell::width)
      .def_ro("activation", &Cell::activation)
      .def_ro("scaling", &Cell::scaling)
      .def_ro("step", &Cell::step)
      .def_ro("noise", &Cell::noise)
      .def_ro("tolerance", &Cell::tolerance);
  nb::class_<Interval>(m, "Interval", "An interval of 95 % confidence.")
      .def_ro("low", &Interval::low)
      .def_ro("high", &Interval::high);
  nb::class_<CellResult>(m, "CellResult", "The trials of one cell.")
      .def_ro("cell", &CellResult::cell)
      .def_ro("trials", &CellResult::trials)
      .def_ro("successes", &CellResult::successes, "Trials that ended converged or certified.")
      .def_ro("diverged", &CellResult::diverged)
      .def_ro("certified", &CellResult::certified)
      .def_ro("probability", &CellResult::probability, "successes/trials.")
      .def_ro("interval", &CellResult::interval, "Wilson's, of the probability.")
      .def_ro("mean_steps", &CellResult::mean_steps)
      .def_ro("median_misfit", &CellResult::median_misfit)
      .def("__repr__", [](const CellResult& c) {
        return "<" + std::to_string(c.successes) + " of " + std::to_string(c.trials) + " trials>";
      });
  nb::class_<Transition>(m, "Transition", "Where along y the success probability crosses 1/2, for one x.")
      .def_ro("y", &Transition::y, "None where it does not cross.")
      .def_ro("low", &Transition::low)
      .def_ro("high", &Transition::high);
  nb::class_<Panel>(m, "Panel", "One heat map: two axes vary, the others are fixed.")
      .def_ro("title", &Panel::title, "The fixed values of further varying axes.")
      .def_ro("x", &Panel::x, "Name of an axis; empty if there is one column.")
      .def_ro("y", &Panel::y, "Name of an axis; empty if there is a single cell.")
      .def_ro("x_values", &Panel::x_values)
      .def_ro("y_values", &Panel::y_values)
      .def_ro("cells", &Panel::cells, "Numbers into the result's cells, x by x.")
      .def_ro("transitions", &Panel::transitions, "For each x; empty unless y is numeric.");
}

/// Keywords of zeroloss.fit that make a trial again. Those that are as they come are left out where they
/// belong to the reading of data, since a Dataset was read already.
nb::dict fit_options(const Swept& a, std::size_t cell, Index trial) {
  const auto [source, read, fit] = trial_run(a.source, a.options, cell, trial);
  const ReadOptions plain;
  nb::dict keywords;
  const auto add = [&](const char* name, const auto& value) { keywords[name] = nb::cast(value); };
  const auto add_read = [&](const char* name, auto ReadOptions::*field) {
    if (read.*field != plain.*field) add(name, read.*field);
  };
  if (a.named) add("data", source);
  add_read("target", &ReadOptions::target);
  add_read("task", &ReadOptions::task);
  add_read("split", &ReadOptions::split);
  add_read("n", &ReadOptions::n);
  add_read("d", &ReadOptions::d);
  add_read("shuffle", &ReadOptions::shuffle);
  add_read("classes", &ReadOptions::classes);
  add_read("labels", &ReadOptions::labels);
  add("width", fit.width);
  add("activation", fit.activation);
  add("scaling", fit.scaling);
  add("optimizer", fit.optimizer);
  add("batch", fit.batch);
  add("flow_tolerance", fit.flow_tolerance);
  add("step", fit.step);
  add("precision", fit.precision);
  add("max_steps", fit.max_steps);
  add("tolerance", fit.tolerance);
  add("space", fit.space);
  add("center", fit.center);
  add("normalize", fit.normalize);
  add("failure_probability", fit.failure_probability);
  add("seed", fit.seed);
  return keywords;
}

}  // namespace

void bind_sweep(nb::module_& m) {
  bind_options(m);
  bind_parts(m);
  using R = SweepResult;
  nb::class_<Swept> answer(m, "SweepResult", "A phase diagram.");
  answer.def_ro("conclusion", &R::conclusion)
      .def_ro("complete", &R::complete, "All trials are done.")
      .def_ro("last", &R::last, "Complete, and no other process works on the store any more.")
      .def_ro("source", &R::source, "The data as given; of arrays, what they were called.")
      .def_ro("digest", &R::digest, "Of its file; empty for generated data.")
      .def_ro("cells", &R::cells)
      .def_ro("panels", &R::panels)
      .def_ro("trials", &R::trials, "In all.")
      .def_ro("before", &R::before, "Of these, done before this call or by other processes.")
      .def_ro("rounds", &R::rounds)
      .def_ro("seconds", &R::seconds, "Of this call.")
      .def("fit_options", &fit_options, "cell"_a, "trial"_a = 0,
           nb::sig("def fit_options(self, cell: int, trial: int = 0) -> dict[str, object]"),
           "Keywords that make this trial again: zeroloss.fit(**options) for a path or a name, which is "
           "among them as "
           "data; zeroloss.fit(X, y, **options) for arrays. IndexError for a cell that is not there.")
      .def(
          "fit_command",
          [](const Swept& a, std::size_t cell, Index trial) {
            if (!a.named)
              throw std::invalid_argument(
                  "fit_command: the data were arrays, which a command cannot read: fit_options");
            return fit_command(a.source, a.options, cell, trial);
          },
          "cell"_a, "trial"_a = 0,
          "The `zeroloss fit` command that is this trial again. ValueError for arrays, IndexError for a cell "
          "that "
          "is not there.");
  add_output<Swept>(
      answer, [](const Swept& a) { return sweep_text(a.options, a); },
      [](const Swept& a) { return sweep_json(a.options, a); },
      [](RunFolder& folder, const Swept& a) { write_sweep(folder, a.options, a, {a.call}); });

  m.def(
      "sweep",
      [](const std::string& source, const SweepOptions& options, const std::string& call,
         const nb::object& progress) {
        return Swept(value_of_work(progress, [&](Progress& p) { return sweep(source, options, p); }), options,
                     call);
      },
      "source"_a, "options"_a, "call"_a, "progress"_a.none());
  m.def(
      "sweep",
      [](const DatasetAsRead& data, const SweepOptions& options, const std::string& call,
         const nb::object& progress) {
        return Swept(value_of_work(progress, [&](Progress& p) { return sweep(data, options, p); }), options,
                     call);
      },
      "data"_a, "options"_a, "call"_a, "progress"_a.none());
}

}  // namespace zeroloss::python
