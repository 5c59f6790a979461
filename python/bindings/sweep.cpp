#include "zeroloss/sweep/sweep.hpp"

#include <fmt/format.h>

#include "bindings.hpp"
#include "zeroloss/present/sweep.hpp"

namespace zeroloss::python {

template <>
struct Members<SweepOptions> {
  static constexpr std::array names{"fit",      "read",       "axes",    "trials",
                                    "adaptive", "max_trials", "certify", "store"};
  static auto of(auto& o) {
    return std::tie(o.fit, o.read, o.axes, o.trials, o.adaptive, o.max_trials, o.certify, o.store);
  }
};

namespace {

using Swept = Answer<SweepResult, SweepOptions>;

void bind_parts(nb::module_& m) {
  bind_result<Cell>(m, "Cell", "One point of the grid.");
  bind_result<Interval>(m, "Interval", "An interval of 95 % confidence.");
  bind_result<CellResult>(m, "CellResult", "The trials of one cell.")
      .def_ro("cell", &CellResult::cell)
      .def_ro("interval", &CellResult::interval, "Wilson's, of the probability.")
      .def("__repr__", [](const CellResult& c) {
        return "<" + fmt::to_string(c.successes) + " of " + fmt::to_string(c.trials) + " trials>";
      });
  bind_result<Transition>(m, "Transition", "Where along y the success probability crosses 1/2, for one x.");
  bind_result<Panel>(m, "Panel", "One heat map: two axes vary, the others are fixed.");
}

/// Keywords of zeroloss.fit that make a trial again. Those that are as they come are left out where they
/// belong to the reading of data, since a Dataset was read already.
nb::dict fit_options(const Swept& a, std::size_t cell, Index trial) {
  const auto [source, read, fit] = trial_run(a.source, a.options, cell, trial);
  nb::dict keywords;
  const auto add = [&](const char* name, const auto& value) { keywords[name] = nb::cast(value); };
  if (a.named) add("data", source);
  fields_beside(read, ReadOptions{}, [&](const Field& field, const auto& value, const auto& usual) {
    if (field.serialized && value != usual) add(field.name, value);
  });
  fields(fit, [&](const Field& field, const auto& value) {
    if (field.trial) add(field.name, value);
  });
  add("seed", fit.seed);
  return keywords;
}

}  // namespace

void bind_sweep(nb::module_& m) {
  bind_options<SweepAxes>(m, "SweepAxes");
  bind_options<SweepOptions>(m, "SweepOptions")
      .def_rw("fit", &SweepOptions::fit)
      .def_rw("read", &SweepOptions::read)
      .def_rw("axes", &SweepOptions::axes);
  // Fields of FitOptions that are keywords of sweep() too, for scripts/keywords.py.
  nb::list of_trials;
  const FitOptions plain;
  fields(plain, [&](const Field& field, const auto&) {
    if (field.trial) of_trials.append(field.name);
  });
  m.attr("_OF_TRIALS") = nb::tuple(of_trials);
  bind_parts(m);
  nb::class_<Swept> answer(m, "SweepResult", "A phase diagram.");
  bind_fields<SweepResult>(answer, {"named"});
  answer
      .def("fit_options", &fit_options, "cell"_a, "trial"_a = 0,
           nb::sig("def fit_options(self, cell: int, trial: int = 0) -> dict[str, object]"),
           "Keywords that make this trial again: zeroloss.fit(**options) for a path or a name, which is "
           "among them as data; zeroloss.fit(X, y, **options) for arrays. "
           "IndexError for a cell that is not there.")
      .def(
          "to_arrays",
          [](nb::handle self) { return nb::module_::import_("zeroloss.api.tables").attr("arrays_of")(self); },
          nb::sig("def to_arrays(self) -> dict[str, typing.Any]"),
          "The cells as numpy arrays with a dimension for each axis of several values, in the order n, d, "
          "width, activation, scaling, step, noise, tolerance, depth. First the values of these axes, by "
          "their names and as they were given; then of each cell trials, successes, diverged and certified "
          "(numbers of trials), probability with low and high (Wilson's interval of 95 %), all in [0, 1], "
          "mean_steps, and median_misfit (relative; infinite if diverged, NaN without trials). Where d and "
          "width vary, probability[i, j] is at d[i] and width[j]. numpy.savez(path, **arrays) keeps them.")
      .def(
          "fit_command",
          [](const Swept& a, std::size_t cell, Index trial) {
            if (!a.named)
              throw std::invalid_argument(
                  "fit_command: the data were arrays, which a command cannot read: fit_options");
            return fit_command(a.source, a.options, cell, trial);
          },
          "cell"_a, "trial"_a = 0,
          "The `zeroloss fit` command that is this trial again. ValueError for arrays, "
          "IndexError for a cell that is not there.");
  add_output<Swept>(
      answer, [](const Swept& a) { return sweep_text(a.options, a); },
      [](const Swept& a) { return sweep_json(a.options, a); },
      [](RunFolder& folder, const Swept& a) { write_sweep(folder, a.options, a, {a.call}); });

  add_pickles(answer);

  m.def(
      "sweep",
      [](const std::string& source, const SweepOptions& options, const std::string& call,
         const nb::object& progress, const Group& group) {
        return Swept(value_of_work(progress, [&](Progress& p) { return sweep(source, options, p, group); }),
                     options, call);
      },
      "source"_a, "options"_a, "call"_a, "progress"_a.none(), "group"_a);
  m.def(
      "sweep",
      [](const DatasetAsRead& data, const SweepOptions& options, const std::string& call,
         const nb::object& progress, const Group& group) {
        return Swept(value_of_work(progress, [&](Progress& p) { return sweep(data, options, p, group); }),
                     options, call);
      },
      "data"_a, "options"_a, "call"_a, "progress"_a.none(), "group"_a);
}

}  // namespace zeroloss::python
