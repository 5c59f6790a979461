#include "zeroloss/present/memorize.hpp"

#include <fmt/format.h>

#include "network_class.hpp"
#include "zeroloss/memorize/memorizer.hpp"

namespace zeroloss::python {
namespace {

using Memorized = Answer<MemorizeResult, On<DatasetAsRead, MemorizeOptions>>;

void bind_network(nb::module_& m) {
  bind_network_class<Memorizer>(
      m, "Memorizer",
      "A residual network that is right at every point: h_0 = A_0 x + b_0, h_j = h_{j-1} + V_j "
      "relu(U_j h_{j-1} + s_j), y = V_out relu(U_out h_l + s_out).",
      {"encoding"}, "in the precision of its arithmetic", largest_outputs)
      .def_prop_ro("hidden", &Memorizer::hidden, "k.")
      .def_prop_ro("blocks", &Memorizer::blocks, "l.")
      .def_prop_ro("d", &Memorizer::d)
      .def_prop_ro("parameters", &Memorizer::parameters)
      .def("__repr__", [](const Memorizer& n) {
        return "<memoriser of " + fmt::to_string(n.blocks()) + " residual blocks of width " +
               fmt::to_string(n.hidden()) + " on " + fmt::to_string(n.d()) + " features, " + n.precision +
               ">";
      });
}

}  // namespace

void bind_memorize(nb::module_& m) {
  bind_options<MemorizeOptions>(m, "MemorizeOptions");
  bind_network(m);
  bind_result<MemorizeAttempt>(m, "MemorizeAttempt", "A network that was tried.");

  nb::class_<Memorized> answer(m, "MemorizeResult", "A network written down, and how right it is.");
  bind_fields<MemorizeResult>(answer);
  add_output<Memorized>(
      answer, [](const Memorized& a) { return memorize_text(*a.options.data, a.options.settings, a); },
      [](const Memorized& a) { return memorize_json(*a.options.data, a.options.settings, a); },
      [](RunFolder& folder, const Memorized& a) {
        write_memorize(folder, *a.options.data, a.options.data->read, a.options.settings, a, {a.call});
      });

  add_pickles(answer);

  m.def(
      "memorize",
      [](const std::shared_ptr<DatasetAsRead>& data, const std::optional<Array2>& Y,
         const MemorizeOptions& options, const std::string& call, const nb::object& progress) {
        auto result = value_of_work(progress, [&](Progress& p) {
          return Y ? memorize(*data, Matrix(rows(*Y)), options, p) : memorize(*data, options, p);
        });
        return Memorized(std::move(result), {data, options}, call);
      },
      "data"_a, "Y"_a.none(), "options"_a, "call"_a, "progress"_a.none());
}

}  // namespace zeroloss::python
