#include <fmt/format.h>

#include "network_class.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/cluster/cluster.hpp"
#include "zeroloss/network/kernel_network.hpp"
#include "zeroloss/network/model.hpp"
#include "zeroloss/present/certify.hpp"
#include "zeroloss/present/fit.hpp"
#include "zeroloss/theory/certify.hpp"
#include "zeroloss/train/fit.hpp"
#include "zeroloss/width/width.hpp"

namespace zeroloss::python {
namespace {

using Certified = Answer<CertifyResult, On<DatasetAsRead, CertifyOptions>>;
using Fitted = Answer<FitResult, On<DatasetAsRead, FitOptions>>;

std::string line(const Guarantee& g) {
  return "<" + g.theorem + ": " + (g.holds ? "holds" : "does not hold: " + g.reason) + ">";
}

void bind_parts_of_certify(nb::module_& m) {
  nb::class_<SamplePair>(m, "SamplePair", "Two samples and their distance.")
      .def_ro("first", &SamplePair::first)
      .def_ro("second", &SamplePair::second)
      .def_ro("distance", &SamplePair::distance,
              "Of the normalised points; to minus the second if antipodal.")
      .def_ro("antipodal", &SamplePair::antipodal);
  bind_result<Bottleneck>(m, "Bottleneck", "A sample that holds lambda_min down.")
      .def_ro("sample", &Bottleneck::sample);
  bind_result<TailPass>(m, "TailPass", "One pass over all pairs of points.");
  bind_result<TailBound>(m, "TailBound", "How the tail of the kernel's power series bounds lambda_min.");
  bind_result<WidthRow>(m, "WidthRow", "What a width is enough for, or too little.");
  bind_result<Suspect>(m, "Suspect", "A label that the other samples contradict.")
      .def_ro("sample", &Suspect::sample);
  bind_result<Theorem>(m, "Theorem", "A theorem, whatever the data.");
  m.def("theorems", &theorems, "All that certify applies, in the order of its rows.");
  bind_result<Guarantee>(m, "Guarantee", "One theorem applied to one data set.").def("__repr__", &line);
  bind_result<Forecast>(m, "Forecast", "The expected training curve of gradient descent at infinite width.");
}

void bind_certify(nb::module_& m) {
  bind_options<CertifyOptions>(m, "CertifyOptions");
  bind_parts_of_certify(m);

  nb::class_<Certified> answer(m, "CertifyResult", "What is known before training. print() shows all of it.");
  bind_fields<CertifyResult>(answer, {"center"});
  answer.def_prop_ro(
      "center", [](const Certified& r) { return nb::make_tuple(r.center.high, r.center.low); },
      nb::sig("def center(self) -> tuple[numpy.typing.NDArray[numpy.float64], "
              "numpy.typing.NDArray[numpy.float64]]"),
      "What was subtracted, the sum of both parts; empty if nothing was.");
  add_output<Certified>(
      answer, [](const Certified& a) { return certify_text(*a.options.data, a.options.settings, a); },
      [](const Certified& a) { return certify_json(*a.options.data, a.options.settings, a); },
      [](RunFolder& folder, const Certified& a) {
        write_certify(folder, *a.options.data, a.options.data->read, a.options.settings, a, {a.call});
      },
      of_its_loss<Certified>);

  add_pickles(answer);

  m.def(
      "certify",
      [](const std::shared_ptr<DatasetAsRead>& data, const CertifyOptions& options, const std::string& call,
         const nb::object& progress, const Group& group) {
        auto result = value_of_work(progress, [&](Progress& p) {
          CertifyResult certified = certify(*data, options, p, *cluster_engine(group));
          widths_in_short(*data, options, certified, p);
          return certified;
        });
        return Certified(std::move(result), {data, options}, call);
      },
      "data"_a, "options"_a, "call"_a, "progress"_a.none(), "group"_a);
}

void bind_network(nb::module_& m) {
  bind_result<TwoLayer>(m, "TwoLayer", "One output of a network, of m hidden units on points of R^d.")
      .def(
          "__init__",
          [](TwoLayer* self, const Array2& W, const Array1& v) {
            new (self) TwoLayer{rows(W), Eigen::Map<const Vector>(v.data(), static_cast<Index>(v.size()))};
          },
          "W"_a, "v"_a);
  bind_network_class<Network>(
      m, "Network",
      "A two-layer network with what it needs to be used: one output for regression and for two "
      "classes (the sign decides), c outputs for c > 2 classes (the largest decides).",
      {"outputs", "center", "standardization", "encoding"}, "in double whatever the precision",
      predicted_classes)
      .def_prop_ro(
          "outputs", [](nb::handle self) { return references(self, nb::cast<Network&>(self).outputs); },
          nb::sig("def outputs(self) -> list[TwoLayer]"), "All of the same m and d.")
      .def_prop_ro(
          "mean", [](const Network& n) { return in_place(n.center.high); },
          "Subtracted from every point first, together with mean_low; empty = nothing is.")
      .def_prop_ro(
          "mean_low", [](const Network& n) { return in_place(n.center.low); },
          "What the mean loses when it is rounded to double.")
      .def_prop_ro("width", &Network::width, "m.")
      .def_prop_ro("d", &Network::d)
      .def("__repr__", [](const Network& n) {
        return "<two-layer " + n.activation + " network: " + fmt::to_string(n.outputs.size()) + " x " +
               fmt::to_string(n.width()) + " hidden units on " + fmt::to_string(n.d()) + " features, " +
               n.precision + ">";
      });
}

void bind_kernel_network(nb::module_& m) {
  bind_network_class<KernelNetwork>(
      m, "KernelNetwork",
      "The infinitely wide network of one hidden layer, trained with a ridge: a sum of kernels at the "
      "training "
      "points. One output for regression and for two classes (the sign decides), c outputs for c > 2 classes "
      "(the largest decides).",
      {"center", "standardization", "encoding"}, "in double", predicted_classes)
      .def_prop_ro(
          "mean", [](const KernelNetwork& n) { return in_place(n.center.high); },
          "Subtracted from every point first, together with mean_low; empty = nothing is.")
      .def_prop_ro(
          "mean_low", [](const KernelNetwork& n) { return in_place(n.center.low); },
          "What the mean loses when it is rounded to double.")
      .def_prop_ro("d", &KernelNetwork::d)
      .def("__repr__", [](const KernelNetwork& n) {
        return fmt::format("<infinitely wide two-layer {} network: {} on {} points, ridge {:.3g}>",
                           n.activation, count(n.outputs(), "output", "outputs"), n.n(), n.ridge);
      });
}

void bind_parts_of_fit(nb::module_& m) {
  bind_result<Certificate>(m, "Certificate", "What is proved about given weights, rounding included.")
      .def("__repr__", [](const Certificate& c) {
        return c.holds ? "<certificate of " + c.kind + ": an exact solution lies within " +
                             decimal(c.radius, 2, Rounding::up) + ">"
                       : "<no certificate: " + c.reason + ">";
      });
  bind_result<CurvePoint>(m, "CurvePoint",
                          "One point of the training curve, with what theory says beside it.");
  bind_result<TheoremBeside>(m, "TheoremBeside", "The theorem whose bounds stand in the curve.");
  bind_result<OutputResult>(m, "OutputResult", "Training of one output.");
}

template <class S>
bool equal(const S& self, const nb::object& other) {
  return nb::isinstance<S>(other) && self == nb::cast<const S&>(other);
}

/// Arrays W, K x m x d, and v, K x m or none.
Start start_of_arrays(const Array3& W, const std::optional<Array2>& v) {
  const auto m = static_cast<Index>(W.shape(1)), d = static_cast<Index>(W.shape(2));
  std::vector<TwoLayer> outputs;
  for (std::size_t k = 0; k < W.shape(0); ++k) {
    const auto place = static_cast<Index>(k);
    outputs.push_back({Eigen::Map<const RowMatrix>(W.data() + place * m * d, m, d), {}});
    if (v) outputs.back().v = rows(*v).row(place);
  }
  return start_of(std::move(outputs));
}

void bind_start(nb::module_& m) {
  bind_result<Start>(m, "Start", "Where training begins.")
      .def(nb::init<>())
      .def_prop_ro("drawn", &Start::drawn, "Weights are drawn, not given.")
      .def_prop_ro(
          "width", [](const Start& s) { return s.drawn() ? Index{0} : s.width(); },
          "Hidden units of given weights; 0 if they are drawn.")
      .def("__eq__", equal<Start>, "other"_a, nb::sig("def __eq__(self, other: object) -> bool"));
  m.def(
      "read_start",
      [](const std::filesystem::path& path) {
        return value_of_work(nb::none(), [&](Progress&) { return read_start(path); });
      },
      "path"_a);
  m.def("start_of", &start_of_arrays, "W"_a, "v"_a.none());
}

/// Points that are read already, as those of `data`: the numbers of their columns have to mean the same.
Dataset test_of(const Dataset& data, const Dataset& test) {
  if (encoding_text(test.encoding) != encoding_text(data.encoding))
    throw std::invalid_argument("fit: test " + test.name + " was read with other columns than " + data.name +
                                ": give its path, so that they are read alike");
  return select_test(data, source_of(test), {.task = name(data.task)});
}

void bind_test_set(nb::module_& m) {
  const auto made = [](const auto& select) {
    return TestSet(std::make_shared<Dataset>(value_of_work(nb::none(), [&](Progress&) { return select(); })));
  };
  bind_result<TestSet>(m, "TestSet", "Points that are looked at, not fitted.")
      .def(nb::init<>())
      .def("__eq__", equal<TestSet>, "other"_a, nb::sig("def __eq__(self, other: object) -> bool"));
  m.def(
      "read_test",
      [made](const DatasetAsRead& data, const std::string& source) {
        return made([&] {
          const ReadOptions options = test_options(source, data, data.read);
          return select_test(data, open_source(source, options), options);
        });
      },
      "data"_a, "source"_a, "Of a path or a name, read as `data` were.");
  m.def(
      "test_of",
      [made](const DatasetAsRead& data, const Array2& X, const std::optional<Array1>& numbers,
             std::vector<std::string> texts, const std::vector<Index>& sizes) {
        return made([&] {
          const Source source = source_of(X, numbers, std::move(texts), "test arrays", {}, sizes);
          return select_test(data, source, test_options(source.name, data, data.read));
        });
      },
      "data"_a, "X"_a, "numbers"_a.none(), "texts"_a, "sizes"_a, "Of arrays; `sizes`: of a sample.");
  m.def(
      "test_of",
      [made](const DatasetAsRead& data, const Frame& frame, const std::string& source,
             const std::string& target) {
        return made([&] {
          ReadOptions options = test_options(source, data, data.read);
          if (!target.empty()) options.target = target;
          return select_test(data, source_of(frame, source, options), options);
        });
      },
      "data"_a, "frame"_a, "source"_a, "target"_a,
      "Of a data frame; `target` says which column, if it is not that of the data.");
  m.def(
      "test_of",
      [made](const DatasetAsRead& data, const DatasetAsRead& test) {
        return made([&] { return test_of(data, test); });
      },
      "data"_a, "test"_a, "Of points that are read already.");
  bind_result<TestResult>(m, "TestResult", "The trained network on the test points.");
}

void bind_fit(nb::module_& m) {
  bind_start(m);
  bind_test_set(m);
  bind_options<FitOptions>(m, "FitOptions");
  bind_network(m);
  bind_kernel_network(m);
  bind_parts_of_fit(m);

  bind_result<KernelSolution>(m, "KernelSolution", "How the equations of the optimizer kernel were solved.");
  nb::class_<Fitted> answer(m, "FitResult", "A trained network and what is proved about it.");
  bind_fields<FitResult>(answer, {"outputs", "network", "deep", "kernel"});
  nb::list statuses;
  for (int k = 0; k <= static_cast<int>(Status::interrupted); ++k)
    statuses.append(name(static_cast<Status>(k)));
  m.attr("STATUSES") = nb::tuple(statuses);
  answer.def_prop_ro(
      "network",
      [](nb::handle self) {
        auto& result = nb::cast<Fitted&>(self);
        constexpr auto inside = nb::rv_policy::reference_internal;
        if (result.kernel) return nb::cast(&*result.kernel, inside, self);
        if (!result.deep && result.network.outputs.empty()) return nb::object(nb::none());
        return result.deep ? nb::cast(&*result.deep, inside, self) : nb::cast(&result.network, inside, self);
      },
      nb::sig("def network(self) -> Network | DeepNetwork | KernelNetwork | None"),
      "A DeepNetwork where there are several layers, a KernelNetwork of the optimizer kernel; None where its "
      "equations were not solved.");
  answer.def_prop_ro(
      "outputs", [](nb::handle self) { return references(self, nb::cast<Fitted&>(self).outputs); },
      nb::sig("def outputs(self) -> list[OutputResult]"), "Training of each output, curve included.");
  add_output<Fitted>(
      answer, [](const Fitted& a) { return fit_text(*a.options.data, a.options.settings, a); },
      [](const Fitted& a) { return fit_json(*a.options.data, a.options.settings, a); },
      [](RunFolder& folder, const Fitted& a) {
        write_fit(folder, *a.options.data, a.options.data->read, a.options.settings, a, {a.call});
      },
      of_its_loss<Fitted>);

  add_pickles(answer);

  m.def(
      "fit",
      [](const std::shared_ptr<DatasetAsRead>& data, const FitOptions& options, const std::string& call,
         const nb::object& progress, const Group& group) {
        auto result = value_of_work(progress, [&](Progress& p) { return fit(*data, options, p, group); });
        return Fitted(std::move(result), {data, options}, call);
      },
      "data"_a, "options"_a, "call"_a, "progress"_a.none(), "group"_a);
}

}  // namespace

void bind_two_layer(nb::module_& m) {
  bind_certify(m);
  bind_fit(m);
}

}  // namespace zeroloss::python
