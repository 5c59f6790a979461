#pragma once
#include "bindings.hpp"

/// The Python class of a network, whatever its kind.
namespace zeroloss::python {

/// Its fields but those `by_hand`, outputs for points (`arithmetic`: in which precision), `classes_of`
/// outputs, files, and pickles.
template <class N>
nb::class_<N> bind_network_class(nb::module_& m, const char* name, const char* about,
                                 std::initializer_list<std::string_view> by_hand,
                                 const std::string& arithmetic,
                                 std::vector<Index> (*classes_of)(const Matrix& outputs)) {
  nb::class_<N> c(m, name, about);
  bind_fields<N>(c, by_hand);
  c.def(
       "__call__",
       [](const N& network, nb::handle X) {
         const Array2 numbers = points("predict", X);
         return value_of_work(nb::none(), [&](Progress& p) { return predict(network, rows(numbers), p); });
       },
       "X"_a, nb::sig("def __call__(self, X: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]"),
       ("Outputs for points as they are given, n x d -> n x outputs, " + arithmetic +
        ". DataError for points of another number of features, numbers that are not finite, and rows without "
        "a "
        "length where they are to be divided by it.")
           .c_str())
      .def(
          "classes",
          [classes_of](const N&, const nb::DRef<const Matrix>& outputs) { return classes_of(outputs); },
          "outputs"_a, "Class indices that outputs (n x outputs) stand for.")
      .def(
          "save", [](const N& network, const std::filesystem::path& path) { save_model(path, network); },
          "path"_a, "Writes a safetensors file.")
      .def(
          "export_onnx",
          [](const N& network, const std::filesystem::path& path) { export_onnx(path, network); }, "path"_a,
          "Writes the network as ONNX, with all that it does to points first.");
  add_state(c, name);
  return c;
}

}  // namespace zeroloss::python
