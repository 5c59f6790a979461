#include "zeroloss/present/memorize.hpp"

#include <fmt/format.h>

#include "bindings.hpp"
#include "zeroloss/memorize/memorizer.hpp"

namespace zeroloss::python {
namespace {

using Memorized = Answer<MemorizeResult, On<DatasetAsRead, MemorizeOptions>>;

void bind_network(nb::module_& m) {
  using M = Memorizer;
  nb::class_<M> bound(
      m, "Memorizer",
      "A residual network that is right at every point: h_0 = A_0 x + b_0, h_j = h_{j-1} + V_j "
      "relu(U_j h_{j-1} + s_j), y = V_out relu(U_out h_l + s_out).");
  bound.def_ro("precision", &M::precision, "float32 | float64: of its arithmetic, too.")
      .def_prop_ro("A_0", in_place<M>(&M::A_0), "k x d.")
      .def_prop_ro("b_0", in_place<M>(&M::b_0), "k, or empty = 0.")
      .def_prop_ro("U", in_place<M>(&M::U), "l k x k.")
      .def_prop_ro("V", in_place<M>(&M::V), "l k x k.")
      .def_prop_ro("s", in_place<M>(&M::s), "l k.")
      .def_prop_ro("U_out", in_place<M>(&M::U_out), "p x k.")
      .def_prop_ro("s_out", in_place<M>(&M::s_out), "p.")
      .def_prop_ro("V_out", in_place<M>(&M::V_out), "r x p.")
      .def_prop_ro("task", [](const M& n) { return name(n.task); })
      .def_ro("class_names", &M::class_names)
      .def_prop_ro("hidden", &M::hidden, "k.")
      .def_prop_ro("blocks", &M::blocks, "l.")
      .def_prop_ro("d", &M::d)
      .def_prop_ro("parameters", &M::parameters)
      .def(
          "__call__",
          [](const M& network, nb::handle X) {
            const Array2 numbers = points("predict", X);
            return value_of_work(nb::none(), [&](Progress& p) { return predict(network, rows(numbers), p); });
          },
          "X"_a,
          nb::sig("def __call__(self, X: numpy.typing.ArrayLike) -> "
                  "numpy.typing.NDArray[numpy.float64]"),
          "Outputs for points, n x d -> n x r, in the network's precision.")
      .def(
          "classes", [](const M&, const nb::DRef<const Matrix>& outputs) { return largest_outputs(outputs); },
          "outputs"_a, "The classes of outputs (n x r): the largest one's.")
      .def(
          "save", [](const M& network, const std::filesystem::path& path) { save_model(path, network); },
          "path"_a, "Writes a safetensors file.")
      .def(
          "export_onnx",
          [](const M& network, const std::filesystem::path& path) { export_onnx(path, network); }, "path"_a,
          "Writes the network as ONNX.")
      .def("__repr__", [](const M& n) {
        return "<memoriser of " + fmt::to_string(n.blocks()) + " residual blocks of width " +
               fmt::to_string(n.hidden()) + " on " + fmt::to_string(n.d()) + " features, " + n.precision +
               ">";
      });
  add_state(bound, "Memorizer");
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
