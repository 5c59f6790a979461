#include <fmt/format.h>

#include "network_class.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/deep/model.hpp"
#include "zeroloss/deep/prove.hpp"
#include "zeroloss/deep/tangent.hpp"
#include "zeroloss/models/models.hpp"
#include "zeroloss/models/read.hpp"
#include "zeroloss/network/network.hpp"
#include "zeroloss/present/prove.hpp"

namespace zeroloss::python {

template <>
struct Members<OnnxPlace> {
  static constexpr std::array names{"name", "transposed", "single", "node", "input", "shape"};
  static auto of(auto& p) { return std::tie(p.name, p.transposed, p.single, p.node, p.input, p.shape); }
};
template <>
struct Members<OnnxLayer> {
  static constexpr std::array names{"W", "b", "U", "bU"};
  static auto of(auto& l) { return std::tie(l.W, l.b, l.U, l.bU); }
};
template <>
struct Members<OnnxNetwork> {
  static constexpr std::array names{"network", "layers", "output", "single", "notes"};
  static auto of(auto& n) { return std::tie(n.network, n.layers, n.output, n.single, n.notes); }
};
template <>
struct Members<GraphNetwork> {  // without the graph: an answer about it is no longer the file
  static constexpr std::array names{"name",    "description", "not_layers", "notes", "behind",
                                    "numbers", "single",      "labels",     "moved", "parameters"};
  static auto of(auto& g) {
    return std::tie(g.name, g.description, g.not_layers, g.notes, g.behind, g.numbers, g.single, g.labels,
                    g.moved, g.parameters);
  }
};
template <>
struct Members<ReadNetwork> {
  static constexpr std::array names{"network", "notes", "onnx", "graph"};
  static auto of(auto& r) { return std::tie(r.network, r.notes, r.onnx, r.graph); }
};

namespace {

// What a proof is about: data, options, the network, and what the call says it is.
struct Asked {
  std::shared_ptr<DatasetAsRead> data;
  ProveOptions settings;
  ReadNetwork network;
  std::string model;
};

}  // namespace

template <>
struct Members<Asked> {
  static constexpr std::array names{"data", "settings", "network", "model"};
  static auto of(auto& a) { return std::tie(a.data, a.settings, a.network, a.model); }
};

namespace {

using Proved = Answer<ProveResult, Asked>;

Task task_of(const std::string& text) {
  for (const Task task : {Task::none, Task::regression, Task::classification})
    if (name(task) == text) return task;
  throw std::invalid_argument("task must be none, regression or classification; got \"" + text + "\"");
}

Vector vector_of(const std::optional<Array1>& numbers) {
  return numbers ? Vector(Eigen::Map<const Vector>(numbers->data(), static_cast<Index>(numbers->size())))
                 : Vector{};
}

void bind_network(nb::module_& m) {
  bind_result<Layer>(
      m, "Layer",
      "A layer of h, p numbers. Plain: scale phi(W h + b). Residual: h + scale (U phi(W h + b) "
      "+ bU).")
      .def(
          "__init__",
          [](Layer* self, const Array2& W, const std::optional<Array1>& b, std::string activation,
             double leak, bool residual, const std::optional<Array2>& U, const std::optional<Array1>& bU,
             double scale) {
            new (self) Layer{std::move(activation), leak,     rows(W),
                             vector_of(b),          residual, U ? RowMatrix(rows(*U)) : RowMatrix{},
                             vector_of(bU),         scale};
          },
          "W"_a, "b"_a.none() = nb::none(), "activation"_a = "relu", "leak"_a = 0.01, "residual"_a = false,
          "U"_a.none() = nb::none(), "bU"_a.none() = nb::none(), "scale"_a = 1.0,
          "Doubles: W m x p, b m; of a residual layer U p x m (none: the identity) and bU p.")
      .def("__repr__", [](const Layer& l) {
        return "<layer of " + fmt::to_string(l.units()) + " " + l.activation +
               (l.residual ? " residual" : "") + " units on " + fmt::to_string(l.inputs()) + ">";
      });

  using N = DeepNetwork;
  bind_network_class<N>(
      m, "DeepNetwork",
      "A network of layers, plain and residual: V h + c of the last layer's h, the first's being "
      "(x - shift - shift_low) factor. One output, or one a class, of which the largest decides.",
      {"layers", "encoding", "point_types"}, "in double", predicted_classes)
      .def(
          "__init__",
          [](N* self, std::vector<Layer> layers, const Array2& V, const std::optional<Array1>& c,
             const std::optional<Array1>& shift, const std::optional<Array1>& factor, const std::string& task,
             std::vector<std::string> class_names, double constant, bool unit,
             const std::optional<Array1>& shift_low, bool single, std::string behind) {
            N network{.shift = vector_of(shift),
                      .factor = vector_of(factor),
                      .shift_low = vector_of(shift_low),
                      .layers = std::move(layers),
                      .V = rows(V),
                      .c = vector_of(c),
                      .task = task_of(task),
                      .class_names = std::move(class_names),
                      .constant = constant,
                      .unit = unit,
                      .single = single,
                      .behind = std::move(behind)};
            check(network);
            new (self) N(std::move(network));
          },
          "layers"_a, "V"_a, "c"_a.none() = nb::none(), "shift"_a.none() = nb::none(),
          "factor"_a.none() = nb::none(), "task"_a = "none", "class_names"_a = std::vector<std::string>{},
          "constant"_a = 0.0, "unit"_a = false, "shift_low"_a.none() = nb::none(), "single"_a = false,
          "behind"_a = "",
          "Doubles: V K x p, c K; shift, shift_low and factor, a number a feature; then the constant is "
          "appended where it is not 0, and points are divided by their length if `unit`. `behind` says what "
          "else makes the outputs. ValueError naming the layer that does not fit those before it.")
      .def_prop_ro(
          "layers", [](nb::handle self) { return references(self, nb::cast<N&>(self).layers); },
          nb::sig("def layers(self) -> list[Layer]"), "The hidden ones.")
      .def_prop_ro("d", &N::features)
      .def_prop_ro("depth", &N::depth, "Hidden layers.")
      .def_prop_ro(
          "parameters", [](const N& n) { return parameters(n); }, "Weights and biases.")
      .def(
          "outputs",
          [](const N& network, nb::handle X) {
            const Array2 numbers = points("outputs", X);
            return value_of_work(nb::none(), [&](Progress& p) { return predict(network, rows(numbers), p); });
          },
          "X"_a,
          nb::sig("def outputs(self, X: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]"),
          "What a call gives: outputs for points, n x d -> n x K, in double.")
      .def(
          "tangent_kernel",
          [](const N& network, nb::handle X, const std::string& layers) {
            const Array2 numbers = points("tangent_kernel", X);
            const auto moving = layers_named(layers, network.depth(), network.outputs());
            return value_of_work(
                nb::none(), [&](Progress& p) { return tangent_kernel(network, rows(numbers), moving, p); });
          },
          "X"_a, "layers"_a = "all",
          nb::sig("def tangent_kernel(self, X: numpy.typing.ArrayLike, layers: str = 'all') -> "
                  "numpy.typing.NDArray[numpy.float64]"),
          "The empirical NTK J J^T, n K x n K: entry (i K + k, j K + p) is the inner product of the "
          "gradients "
          "of output k at point i and output p at point j, in the weights of these layers, named as in "
          "prove(). ResourceError where 8 (n K)^2 bytes are not there: tangent_operator and "
          "tangent_kernel_strips need none of them.")
      .def(
          "tangent_operator",
          [](const N& network, nb::handle X, const std::string& layers) {
            const Array2 numbers = points("tangent_operator", X);
            const auto moving = layers_named(layers, network.depth(), network.outputs());
            return value_of_work(nb::none(), [&](Progress& p) {
              return factored_tangent_kernel(network, rows(numbers), moving, p);
            });
          },
          "X"_a, "layers"_a = "all",
          nb::sig(
              "def tangent_operator(self, X: numpy.typing.ArrayLike, layers: str = 'all') -> TangentKernel"),
          "The same as the factors of J, some 16 n K bytes a unit: its products with vectors, its rows in "
          "strips, "
          "its file.")
      .def(
          "tangent_kernel_strips",
          [](nb::handle self, nb::handle X, nb::handle rows_together, const std::string& layers) {
            return self.attr("tangent_operator")(X, layers).attr("strips")(rows_together);
          },
          "X"_a, "rows"_a = 0, "layers"_a = "all",
          nb::sig("def tangent_kernel_strips(self, X: numpy.typing.ArrayLike, rows: int = 0, layers: str = "
                  "'all') -> collections.abc.Iterator[numpy.typing.NDArray[numpy.float64]]"),
          "tangent_kernel in strips of rows from the first on, each r x n K: whole points, at most so many "
          "rows if "
          "these hold a point; 0: some that are computed well together. Bit for bit its rows.")
      .def(
          "lambda_min",
          [](const N& network, nb::handle X, const std::string& layers, const nb::object& progress) {
            const Array2 numbers = points("lambda_min", X);
            const auto moving = layers_named(layers, network.depth(), network.outputs());
            return value_of_work(
                progress, [&](Progress& p) { return tangent_lambda_min(network, rows(numbers), moving, p); });
          },
          "X"_a, "layers"_a = "all", "progress"_a.none() = nb::none(),
          nb::sig(
              "def lambda_min(self, X: numpy.typing.ArrayLike, layers: str = 'all', progress: object = None) "
              "-> TangentLambdaMin"),
          "lambda_min(J J^T) of tangent_kernel: proved where the packed matrix fits into memory, 4 (n K)^2 "
          "bytes, "
          "and three factorisations of it; elsewhere an estimate from above.")
      .def(
          "export",
          [](nb::handle self, nb::handle path) {
            nb::module_::import_("zeroloss.api.tangent").attr("export")(self, path);
          },
          "path"_a, nb::sig("def export(self, path: str | os.PathLike) -> None"),
          "Writes FILE.onnx as export_onnx, FILE.safetensors as save. ValueError for another ending.")
      .def(
          "verified_outputs",
          [](const N& network, nb::handle X) {
            const Array2 numbers = points("verified_outputs", X);
            VerifiedOutputs outputs = value_of_work(
                nb::none(), [&](Progress& p) { return verified_outputs(network, rows(numbers), p); });
            return nb::make_tuple(std::move(outputs.f), std::move(outputs.error));
          },
          "X"_a,
          nb::sig("def verified_outputs(self, X: numpy.typing.ArrayLike) -> "
                  "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
          "Outputs for points, n x K, and bounds of what each may be off by, in exact arithmetic.")
      .def("__repr__", [](const N& n) { return "<network of " + describe(n) + ">"; });
}

}  // namespace

// A file as the graph that it is.
void bind_graph(nb::module_& m) {
  using G = GraphNetwork;
  const auto enclosed = [](const G& graph, const char* function, nb::handle X) {
    if (!graph.graph)
      throw DataError(graph.name +
                      ": its graph is not there, since answers are pickled without it: read it "
                      "again by load");
    const Array2 numbers = points(function, X);
    return value_of_work(nb::none(),
                         [&](Progress& p) { return enclosed_outputs(graph, rows(numbers), "exact", p); });
  };
  nb::class_<G> c(
      m, "GraphNetwork",
      "An ONNX file that is no network of layers (convolutions, normalisations, ..) as the graph of "
      "operators that it is.");
  c.def_ro("name", &G::name, "Of its file.")
      .def_ro("description", &G::description)
      .def_ro("not_layers", &G::not_layers, "Why it is not read as a network of layers.")
      .def_ro("notes", &G::notes, "On how it was read, a line each.")
      .def_ro("behind", &G::behind, "What the file does with the outputs and is left out; empty: nothing.")
      .def_ro("numbers", &G::numbers, "Of its types that with the fewest digits.")
      .def_ro("class_names", &G::class_names, "Of its outputs, where a file of zeroloss says them.")
      .def_ro("labels", &G::labels, "The file makes labels of its outputs.")
      .def_ro("moved", &G::moved, "Its last linear map is no longer that of the file.")
      .def_ro("parameters", &G::parameters, "Numbers that its nodes take.")
      .def(
          "__call__", [enclosed](const G& graph, nb::handle X) { return enclosed(graph, "outputs", X).f; },
          "X"_a,
          nb::sig("def __call__(self, X: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]"),
          "Outputs for points, n x d -> n x K: a sample is a row, its numbers in the order of the file's "
          "input. "
          "DataError naming the node that is not read.")
      .def(
          "outputs", [enclosed](const G& graph, nb::handle X) { return enclosed(graph, "outputs", X).f; },
          "X"_a,
          nb::sig("def outputs(self, X: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]"),
          "What a call gives.")
      .def(
          "verified_outputs",
          [enclosed](const G& graph, nb::handle X) {
            GraphOutputs outputs = enclosed(graph, "verified_outputs", X);
            return nb::make_tuple(std::move(outputs.f), std::move(outputs.error));
          },
          "X"_a,
          nb::sig("def verified_outputs(self, X: numpy.typing.ArrayLike) -> "
                  "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
          "Outputs for points, n x K, and bounds of what each may be off by, in exact arithmetic.")
      .def("__repr__", [](const G& g) { return "<" + g.description + ">"; });
  constexpr std::array kOfLayers{
      std::pair{"tangent_kernel",
                "def tangent_kernel(self, *args: object, **more: object) -> typing.NoReturn"},
      std::pair{"tangent_operator",
                "def tangent_operator(self, *args: object, **more: object) -> typing.NoReturn"},
      std::pair{"tangent_kernel_strips",
                "def tangent_kernel_strips(self, *args: object, **more: object) -> typing.NoReturn"},
      std::pair{"lambda_min", "def lambda_min(self, *args: object, **more: object) -> typing.NoReturn"}};
  for (const auto& [name, signature] : kOfLayers)
    c.def(
        name,
        [name = std::string(name)](const G& graph, const nb::args&, const nb::kwargs&) -> nb::object {
          throw std::invalid_argument(
              fmt::format("{}: the tangent kernel needs a network of layers, and {} is none: {}", name,
                          graph.name, graph.not_layers));
        },
        nb::sig(signature), "ValueError: of networks of layers alone, with why this is none.");
  m.def(
      "write_graph_like",
      [](const std::filesystem::path& source, const G& graph, const std::filesystem::path& path) {
        write_like(source, graph, path);
      },
      "source"_a, "network"_a, "path"_a, "The file with the last linear map of a network that was moved.");
  c.def(
      "export",
      [](const G& graph, nb::handle path) {
        nb::module_::import_("zeroloss.api.tangent").attr("export")(graph, path);
      },
      "path"_a, nb::sig("def export(self, path: str | os.PathLike) -> None"),
      "Writes its file to FILE.onnx, with its last layer where that was moved. ValueError for another "
      "ending, "
      "where it was read of a run folder, and for the file itself where its last layer was moved.");
}

void bind_tangent(nb::module_& m) {
  using T = TangentKernel;
  bind_result<TangentLambdaMin>(m, "TangentLambdaMin",
                                "lambda_min(J J^T) of given weights: a proved bound or an estimate.")
      .def("__repr__", [](const TangentLambdaMin& l) {
        return l.verified
                   ? fmt::format("<lambda_min >= {}, proved>", decimal(l.lambda_min, 4, Rounding::down))
                   : fmt::format("<lambda_min about {:.4g}, an estimate: {}>", l.estimate, l.reason);
      });
  nb::class_<T>(
      m, "TangentKernel",
      "The tangent kernel J J^T of given weights as the factors of J, n K x n K: what it is "
      "multiplied by, or read in strips of rows, without ever being there. scipy's aslinearoperator "
      "takes it.")
      .def_prop_ro(
          "shape", [](const T& t) { return std::pair(t.side(), t.side()); },
          nb::sig("def shape(self) -> tuple[int, int]"))
      .def_prop_ro(
          "dtype", [](const T&) { return nb::module_::import_("numpy").attr("dtype")("float64"); },
          nb::sig("def dtype(self) -> numpy.dtype[numpy.float64]"))
      .def_ro("points", &T::points, "n.")
      .def_ro("outputs", &T::outputs, "K.")
      .def(
          "rows",
          [](const T& t, Index first, Index count) {
            return value_of_work(nb::none(), [&](Progress& p) { return rows_of(t, first, count, p); });
          },
          "first"_a, "count"_a = 1,
          "Rows of points first to first + count - 1: count K x n K. ValueError for points that are not "
          "there.")
      .def(
          "matvec",
          [](nb::handle self, nb::handle v) {
            return nb::module_::import_("zeroloss.api.tangent").attr("times")(self, v);
          },
          "v"_a,
          nb::sig("def matvec(self, v: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]"),
          "J (J^T v) for v of n K numbers, or n K x m. ValueError for another number of rows.")
      .def(
          "__matmul__",
          [](nb::handle self, nb::handle v) {
            return nb::module_::import_("zeroloss.api.tangent").attr("times")(self, v);
          },
          "v"_a,
          nb::sig("def __matmul__(self, v: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]"),
          "The same.")
      .def(
          "diagonal", [](const T& t) { return diagonal(t); }, "Squares of the lengths of the gradients, n K.")
      .def(
          "strips",
          [](nb::handle self, nb::handle rows_together) {
            return nb::module_::import_("zeroloss.api.tangent").attr("strips")(self, rows_together);
          },
          "rows"_a = 0,
          nb::sig("def strips(self, rows: int = 0) -> "
                  "collections.abc.Iterator[numpy.typing.NDArray[numpy.float64]]"),
          "All rows from the first on, r x n K at a time: whole points, at most so many rows if these hold a "
          "point; 0: some that are computed well together.")
      .def(
          "save",
          [](nb::handle self, nb::handle path, nb::handle rows_together) {
            nb::module_::import_("zeroloss.api.tangent").attr("save")(self, path, rows_together);
          },
          "path"_a, "rows"_a = 0, nb::sig("def save(self, path: str | os.PathLike, rows: int = 0) -> None"),
          "Writes all of it as a .npy file, a strip at a time: 8 (n K)^2 bytes of disk, a strip of memory; "
          "numpy.load(path, mmap_mode='r') reads parts of it. A file of that name is replaced once the new "
          "one is "
          "whole. ResourceError where the disk has less room.")
      .def("__repr__", [](const T& t) {
        return fmt::format("<tangent kernel of {} x {} outputs, {} x {}>", t.points, t.outputs, t.side(),
                           t.side());
      });
  m.def(
      "tangent_product",
      [](const T& t, const nb::DRef<const Matrix>& V) {
        return value_of_work(nb::none(), [&](Progress& p) { return product(t, V, p); });
      },
      "kernel"_a, "V"_a, "J (J^T V), V n K x m.");
  m.def("points_together", &points_together, "kernel"_a, "Points of which rows are best asked for together.");
}

void bind_deep(nb::module_& m) {
  bind_tangent(m);
  bind_network(m);
  bind_graph(m);
  bind_options<ProveOptions>(m, "ProveOptions");
  bind_result<DeepCertificate>(m, "DeepCertificate", "What is proved about a network of layers.")
      .def("__repr__", [](const DeepCertificate& c) {
        return c.exists ? std::string("<certificate: an exact network lies near") +
                              (c.descends ? ", and descent reaches one>" : ">")
                        : "<no certificate: " + c.reason + ">";
      });
  bind_result<ExecutedLabels>(m, "ExecutedLabels", "Labels in every execution of a file in rounded numbers.");
  bind_result<ProvedNetwork>(m, "ProvedNetwork", "What is proved of one network on the data.", {"outputs"})
      .def_prop_ro(
          "outputs", [](const ProvedNetwork& p) { return p.outputs.f; }, "n x K.")
      .def_prop_ro(
          "output_errors", [](const ProvedNetwork& p) { return p.outputs.error; },
          "n x K: what each output may be off by.");
  nb::class_<ReadNetwork>(m, "ReadNetwork", "A network of layers with how it was read.")
      .def(
          "__init__",
          [](ReadNetwork* self, const DeepNetwork& network, std::vector<std::string> notes) {
            new (self) ReadNetwork{network, std::move(notes)};
          },
          "network"_a, "notes"_a = std::vector<std::string>{})
      .def_prop_ro(
          "network",
          [](nb::handle self) {
            auto& read = nb::cast<ReadNetwork&>(self);
            return read.layers() ? nb::cast(&read.network, nb::rv_policy::reference_internal, self)
                                 : nb::object(nb::none());
          },
          nb::sig("def network(self) -> DeepNetwork | None"), "None: a graph that is no network of layers.")
      .def_prop_ro(
          "graph",
          [](nb::handle self) {
            auto& read = nb::cast<ReadNetwork&>(self);
            return nb::cast(read.graph ? *read.graph : GraphNetwork{}, nb::rv_policy::move);
          },
          nb::sig("def graph(self) -> GraphNetwork"), "Of an ONNX file.")
      .def(
          "model",
          [](const ReadNetwork& read) {
            return read.layers() ? model_of(std::make_shared<const DeepNetwork>(read.network))
                                 : model_of(*read.graph);
          },
          "As what is asked for data that fit it.")
      .def_rw("notes", &ReadNetwork::notes, "A line each.");
  m.def("layer_activations", &layer_activations, "Of layers: those of kernels, and identity.");
  m.def(
      "read_network",
      [](const std::filesystem::path& path, const std::string& activation, const std::string& layout,
         const std::string& shape, const std::string& output_name) {
        return value_of_work(nb::none(), [&](Progress&) {
          return read_any_network(path, StateLayout{.activation = activation, .description = layout},
                                  {.shape = shape, .output_name = output_name});
        });
      },
      "path"_a, "activation"_a, "layout"_a = "", "shape"_a = "", "output_name"_a = "");
  m.def("layers_of", &layers_of, "network"_a, "A two-layer network as one of layers.");

  nb::class_<Proved> answer(m, "ProveResult",
                            "What is proved of a trained network. print() shows all of it.");
  bind_fields<ProveResult>(answer, {"polished"});
  answer.def_prop_ro(
      "polished",
      [](nb::handle self) {
        auto& result = nb::cast<Proved&>(self);
        if (result.networks.size() > 1 && !result.options.network.layers() && !result.polished_graph)
          throw DataError("the polished network is not there, since answers are pickled without graphs");
        return result.networks.size() < 2 ? nb::object(nb::none())
               : result.polished_graph
                   ? nb::cast(&*result.polished_graph, nb::rv_policy::reference_internal, self)
                   : nb::cast(&result.polished, nb::rv_policy::reference_internal, self);
      },
      nb::sig("def polished(self) -> DeepNetwork | GraphNetwork | None"),
      "The polished network, if there was polishing: of a graph with another last layer.");
  answer.def_prop_ro(
      "given",
      [](nb::handle self) {
        auto& read = nb::cast<Proved&>(self).options.network;
        if (read.layers()) return nb::cast(&read.network, nb::rv_policy::reference_internal, self);
        return nb::cast(&*read.graph, nb::rv_policy::reference_internal, self);
      },
      nb::sig("def given(self) -> DeepNetwork | GraphNetwork"),
      "The network that was asked about, with its weights as they are: outputs, tangent kernel, files. It "
      "takes "
      "points divided by `divide`, as a pipeline made them; outputs are those before what `behind` says.");
  add_output<Proved>(
      answer,
      [](const Proved& a) {
        const Asked& o = a.options;
        return prove_text(o.model, o.network, *o.data, o.settings, a);
      },
      [](const Proved& a) {
        const Asked& o = a.options;
        return prove_json(o.model, o.network, *o.data, o.settings, a);
      },
      [](RunFolder& folder, const Proved& a) {
        const Asked& o = a.options;
        ProveResult result = a;
        Progress silent;
        write_prove(folder, o.model, o.network, *o.data, o.data->read, o.settings, result, {a.call}, {},
                    silent);
      },
      [](const Proved& a) {  // with how the network was read
        std::string said = of_its_loss(a);
        for (const std::string& note : a.options.network.notes) said += "; " + note;
        return said;
      });
  add_pickles(answer);

  m.def(
      "prove",
      [](const ReadNetwork& network, const std::string& model, const std::shared_ptr<DatasetAsRead>& data,
         const ProveOptions& options, const std::string& call, const nb::object& progress) {
        auto result = value_of_work(progress, [&](Progress& p) { return prove(network, *data, options, p); });
        return Proved(std::move(result), {data, options, network, model}, call);
      },
      "network"_a, "model"_a, "data"_a, "options"_a, "call"_a, "progress"_a.none());
}

}  // namespace zeroloss::python
