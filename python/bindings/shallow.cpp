#include "bindings.hpp"
#include "zeroloss/core/text.hpp"
#include "zeroloss/network/model.hpp"
#include "zeroloss/present/certify.hpp"
#include "zeroloss/present/fit.hpp"
#include "zeroloss/theory/certify.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss::python {
namespace {

/// The data of a run, and what was done with them.
template <class Options>
struct OnData {
  std::shared_ptr<DatasetAsRead> data;
  Options settings;
};
using Certified = Answer<CertifyResult, OnData<CertifyOptions>>;
using Fitted = Answer<FitResult, OnData<FitOptions>>;

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
  nb::class_<Bottleneck>(m, "Bottleneck", "A sample that holds lambda_min down.")
      .def_ro("sample", &Bottleneck::sample)
      .def_ro("weight", &Bottleneck::weight, "Its squared entry in the unit eigenvector.");
  nb::class_<Suspect>(m, "Suspect", "A label that the other samples contradict.")
      .def_ro("sample", &Suspect::sample)
      .def_ro("predicted", &Suspect::predicted, "Class, or the number predicted.")
      .def_ro("score", &Suspect::score,
              "The predicted class's output less the label's; regression: |residual| over the threshold.");
  nb::class_<Guarantee>(m, "Guarantee", "One theorem applied to one data set.")
      .def_ro("theorem", &Guarantee::theorem)
      .def_ro("lambda_from", &Guarantee::lambda_from, "Which bound of lambda.")
      .def_ro("verified", &Guarantee::verified, "lambda is a verified bound.")
      .def_ro("flow", &Guarantee::flow, "Continuous time: rate and steps are per unit of time.")
      .def_ro("holds", &Guarantee::holds)
      .def_ro("width", &Guarantee::width, "Sufficient hidden units.")
      .def_ro("step", &Guarantee::step, "Largest step that the theorem allows.")
      .def_ro("rate", &Guarantee::rate, "||r|| shrinks at least by 1 - rate a step.")
      .def_ro("steps", &Guarantee::steps, "Steps until ||r_k|| <= accuracy ||r_0||.")
      .def_ro("failure_probability", &Guarantee::failure_probability)
      .def_ro("reason", &Guarantee::reason, "Why it fails and by how much.")
      .def("__repr__", &line);
  nb::class_<Forecast>(m, "Forecast", "The expected training curve of gradient descent at infinite width.")
      .def_ro("step", &Forecast::step, "eta of the forecast.")
      .def_ro("stable_step", &Forecast::stable_step, "Gradient descent is stable below 2/lambda_max.")
      .def_ro("at_step", &Forecast::at_step, "0, then ten a decade.")
      .def_ro("misfit", &Forecast::misfit, "Expected misfit there, relative to the start.")
      .def_ro("standard_error", &Forecast::standard_error, "Of misfit, from the probes; 0 if exact.")
      .def_ro("start_misfit", &Forecast::start_misfit)
      .def_ro("accuracy", &Forecast::accuracy, "The misfit asked for.")
      .def_ro("steps_to_accuracy", &Forecast::steps_to_accuracy, "Infinite if more than 1e15.")
      .def_ro("method", &Forecast::method);
}

void bind_certify(nb::module_& m) {
  nb::class_<CertifyOptions>(m, "CertifyOptions")
      .def(nb::init<>())
      .def_rw("activation", &CertifyOptions::activation)
      .def_rw("center", &CertifyOptions::center)
      .def_rw("normalize", &CertifyOptions::normalize)
      .def_rw("failure_probability", &CertifyOptions::failure_probability)
      .def_rw("accuracy", &CertifyOptions::accuracy)
      .def_rw("width", &CertifyOptions::width)
      .def_rw("step", &CertifyOptions::step)
      .def_rw("all_bounds", &CertifyOptions::all_bounds)
      .def_rw("spectrum", &CertifyOptions::spectrum)
      .def_rw("seed", &CertifyOptions::seed);
  bind_parts_of_certify(m);

  using R = CertifyResult;
  nb::class_<Certified> answer(m, "CertifyResult", "What is known before training. print() shows all of it.");
  answer.def_ro("conclusion", &R::conclusion, "The answer in a sentence or two.")
      .def_ro("outcome", &R::outcome, "verified | not verified | zero | impossible.")
      .def_ro("reason", &R::reason, "Why not verified, zero or impossible; empty if verified.")
      .def_ro("n", &R::n, "Points.")
      .def_ro("d", &R::d, "Features.")
      .def_ro("n_distinct", &R::n_distinct)
      .def_prop_ro(
          "center", [](const Certified& r) { return nb::make_tuple(r.center.high, r.center.low); },
          nb::sig("def center(self) -> tuple[numpy.typing.NDArray[numpy.float64], "
                  "numpy.typing.NDArray[numpy.float64]]"),
          "What was subtracted, the sum of both parts; empty if nothing was.")
      .def_prop_ro(
          "task", [](const Certified& r) { return name(r.task); }, "none | regression | classification.")
      .def_ro("class_names", &R::class_names)
      .def_ro("activation", &R::activation)
      .def_ro("lambda_min", &R::lambda_min, "Of Sigma on the distinct points, computed.")
      .def_ro("lambda_min_verified", &R::lambda_min_verified, "Proven lower bound, or None.")
      .def_ro("rounding_loss", &R::rounding_loss, "What the proof gives away to rounding and entry errors.")
      .def_ro("lambda_max", &R::lambda_max, "Of the kernel of all samples.")
      .def_ro("ridge", &R::ridge, "Added where the inverse is needed; 0 unless numerically singular.")
      .def_ro("norm_X", &R::norm_X, "||X|| of all samples, proven upper bound.")
      .def_ro("bottleneck", &R::bottleneck, "Largest weights first, at most 6.")
      .def_ro("bottleneck_distance", &R::bottleneck_distance, "Between the first two of them, up to sign.")
      .def_ro("bottleneck_antipodal", &R::bottleneck_antipodal, "It is that to minus the second.")
      .def_ro("spectrum", &R::spectrum, "All eigenvalues, ascending, if asked for.")
      .def_ro("separation", &R::separation,
              "Proven lower bound of delta, the least distance of distinct points up to sign.")
      .def_ro("closest", &R::closest, "Nearest first.")
      .def_ro("duplicates", &R::duplicates, "Groups of equal points with equal labels.")
      .def_ro("conflicts", &R::conflicts, "Groups of equal points with different labels.")
      .def_ro("antipodal", &R::antipodal, "Pairs x, -x, exactly.")
      .def_ro("nearest", &R::nearest, "Different points within 1e-6, rather with different labels, or None.")
      .def_ro("near_pairs", &R::near_pairs, "Pairs of distinct points closer than 1.42e-3 up to sign.")
      .def_ro("guarantees", &R::guarantees, "What each published theorem asks for.")
      .def_ro("forecast", &R::forecast, "None without labels.")
      .def_ro("complexity", &R::complexity, "By class; empty without labels.")
      .def_ro("complexity_shuffled", &R::complexity_shuffled, "The same for labels in random order.")
      .def_ro("leave_one_out_error", &R::leave_one_out_error,
              "Fraction misclassified, or relative root mean square error; None without labels.")
      .def_ro("suspects", &R::suspects, "Labels that look wrong, worst first.")
      .def_ro("seconds", &R::seconds)
      .def_ro("peak_bytes", &R::peak_bytes, "Largest resident size of the process.");
  add_output<Certified>(
      answer, [](const Certified& a) { return certify_text(*a.options.data, a.options.settings, a); },
      [](const Certified& a) { return certify_json(*a.options.data, a.options.settings, a); },
      [](RunFolder& folder, const Certified& a) {
        write_certify(folder, *a.options.data, a.options.data->read, a.options.settings, a, {a.call});
      });

  m.def(
      "certify",
      [](const std::shared_ptr<DatasetAsRead>& data, const CertifyOptions& options, const std::string& call,
         const nb::object& progress) {
        auto result = value_of_work(progress, [&](Progress& p) { return certify(*data, options, p); });
        return Certified(std::move(result), {data, options}, call);
      },
      "data"_a, "options"_a, "call"_a, "progress"_a.none());
}

void bind_network(nb::module_& m) {
  nb::class_<TwoLayer>(m, "TwoLayer", "One output of a network, of m hidden units on points of R^d.")
      .def(
          "__init__",
          [](TwoLayer* self, const Array2& W, const Array1& v) {
            new (self) TwoLayer{rows(W), Eigen::Map<const Vector>(v.data(), static_cast<Index>(v.size()))};
          },
          "W"_a, "v"_a)
      .def_prop_ro("W", in_place<TwoLayer>(&TwoLayer::W), "m x d, w_j a row.")
      .def_prop_ro("v", in_place<TwoLayer>(&TwoLayer::v), "m.");
  nb::class_<Network>(
      m, "Network",
      "A two-layer network with what it needs to be used: one output for regression and for two "
      "classes (the sign decides), c outputs for c > 2 classes (the largest decides).")
      .def_ro("activation", &Network::activation)
      .def_ro("scaling", &Network::scaling)
      .def_ro("precision", &Network::precision, "float32: every weight is a float.")
      .def_prop_ro(
          "outputs", [](nb::handle self) { return references(self, nb::cast<Network&>(self).outputs); },
          nb::sig("def outputs(self) -> list[TwoLayer]"), "All of the same m and d.")
      .def_prop_ro(
          "mean", [](const Network& n) { return in_place(n.center.high); },
          "Subtracted from every point first, together with mean_low; empty = nothing is.")
      .def_prop_ro(
          "mean_low", [](const Network& n) { return in_place(n.center.low); },
          "What the mean loses when it is rounded to double.")
      .def_ro("normalize", &Network::normalize, "Then every point is divided by its length.")
      .def_prop_ro(
          "task", [](const Network& n) { return name(n.task); }, "none | regression | classification.")
      .def_ro("class_names", &Network::class_names, "Empty for regression.")
      .def_prop_ro("width", &Network::width, "m.")
      .def_prop_ro("d", &Network::d)
      .def(
          "__call__",
          [](const Network& network, nb::handle X) {
            const Array2 numbers = points("predict", X);
            return value_of_work(nb::none(), [&](Progress& p) { return predict(network, rows(numbers), p); });
          },
          "X"_a,
          nb::sig("def __call__(self, X: numpy.typing.ArrayLike) -> "
                  "numpy.typing.NDArray[numpy.float64]"),
          "Outputs for raw points, n x d -> n x outputs, in double whatever the precision.")
      .def(
          "classes",
          [](const Network&, const nb::DRef<const Matrix>& outputs) { return predicted_classes(outputs); },
          "outputs"_a, "Class indices that outputs (n x outputs) stand for.")
      .def(
          "save",
          [](const Network& network, const std::filesystem::path& path) { save_model(path, network); },
          "path"_a, "Writes a safetensors file.")
      .def(
          "export_onnx",
          [](const Network& network, const std::filesystem::path& path) { export_onnx(path, network); },
          "path"_a, "Writes the network as ONNX, normalisation included.")
      .def("__getstate__",
           [](nb::handle self) {
             const Network& n = nb::cast<const Network&>(self);
             nb::list W, v;
             for (const TwoLayer& output : n.outputs) W.append(output.W), v.append(output.v);
             return nb::make_tuple(n.activation, n.scaling, n.precision, W, v, n.center.high, n.center.low,
                                   n.normalize, static_cast<int>(n.task), n.class_names);
           })
      .def("__setstate__",
           [](Network& self, const nb::tuple& state) {
             std::vector<TwoLayer> outputs;
             const nb::object W = state[3], v = state[4];
             for (std::size_t k = 0; k < nb::len(W); ++k)
               outputs.push_back({nb::cast<RowMatrix>(W[k]), nb::cast<Vector>(v[k])});
             new (&self) Network{nb::cast<std::string>(state[0]),
                                 nb::cast<std::string>(state[1]),
                                 nb::cast<std::string>(state[2]),
                                 std::move(outputs),
                                 {nb::cast<Vector>(state[5]), nb::cast<Vector>(state[6])},
                                 nb::cast<bool>(state[7]),
                                 static_cast<Task>(nb::cast<int>(state[8])),
                                 nb::cast<std::vector<std::string>>(state[9])};
           })
      .def("__repr__", [](const Network& n) {
        return "<two-layer " + n.activation + " network: " + std::to_string(n.outputs.size()) + " x " +
               std::to_string(n.width()) + " hidden units on " + std::to_string(n.d()) + " features, " +
               n.precision + ">";
      });
  m.def("load_model", &load_model, "path"_a);
}

void bind_parts_of_fit(nb::module_& m) {
  nb::class_<Certificate>(m, "Certificate", "What is proved about given weights, rounding included.")
      .def_ro("kind", &Certificate::kind, "descent | existence | output_weights | none.")
      .def_ro("holds", &Certificate::holds)
      .def_ro("radius", &Certificate::radius, "If it holds: an exact solution lies within this.")
      .def_ro("margin", &Certificate::margin, "Above 1 if it holds.")
      .def_ro("misfit", &Certificate::misfit, "Upper bound of ||r||; infinite if none is known.")
      .def_ro("lambda_min", &Certificate::lambda_min,
              "Lower bound of lambda_min(J J^T); 0 if none is proved.")
      .def_ro("norm_J", &Certificate::norm_J, "Upper bound of ||J||; 0 if not computed.")
      .def_ro("step", &Certificate::step, "descent: any step up to this converges to an exact solution.")
      .def_ro("rate", &Certificate::rate, "descent: ||r_k|| <= (1 - step rate)^k ||r||.")
      .def_ro("kinks", &Certificate::kinks, "existence: entries of Z that the exact solution has at zero.")
      .def_ro("kink_bound", &Certificate::kink_bound)
      .def_ro("reason", &Certificate::reason, "Why descent does not hold, then why existence does not.")
      .def("__repr__", [](const Certificate& c) {
        return c.holds ? "<certificate of " + c.kind + ": an exact solution lies within " +
                             decimal(c.radius, 2, Rounding::up) + ">"
                       : "<no certificate: " + c.reason + ">";
      });
  nb::class_<CurvePoint>(m, "CurvePoint", "One point of the training curve, with what theory says beside it.")
      .def_ro("step", &CurvePoint::step)
      .def_ro("time", &CurvePoint::time, "Sum of step sizes.")
      .def_ro("relative_misfit", &CurvePoint::relative_misfit, "||r||/||y||.")
      .def_ro("max_distance", &CurvePoint::max_distance, "max_j ||w_j - w_j(0)||.")
      .def_ro("distance", &CurvePoint::distance, "||W - W_0||_F.")
      .def_ro("path_length", &CurvePoint::path_length)
      .def_ro("flipped_fraction", &CurvePoint::flipped_fraction)
      .def_ro("lambda_min", &CurvePoint::lambda_min, "Of J J^T: proven lower bound, where certified.")
      .def_ro("forecast", &CurvePoint::forecast, "Relative misfit of the infinitely wide network.")
      .def_ro("bound_misfit", &CurvePoint::bound_misfit)
      .def_ro("bound_max_distance", &CurvePoint::bound_max_distance)
      .def_ro("bound_distance", &CurvePoint::bound_distance)
      .def_ro("bound_path_length", &CurvePoint::bound_path_length);
  nb::class_<TheoremBeside>(m, "TheoremBeside", "The theorem whose bounds stand in the curve.")
      .def_ro("theorem", &TheoremBeside::theorem)
      .def_ro("holds", &TheoremBeside::holds)
      .def_ro("step", &TheoremBeside::step, "Largest step that it allows; 0 for flow.")
      .def_ro("width", &TheoremBeside::width, "Sufficient width.")
      .def_ro("failure_probability", &TheoremBeside::failure_probability)
      .def_ro("reason", &TheoremBeside::reason);
  nb::class_<OutputResult>(m, "OutputResult", "Training of one output.")
      .def_ro("label", &OutputResult::label, "Class name; empty unless there are more than two.")
      .def_prop_ro("status", [](const OutputResult& o) { return name(o.status); })
      .def_ro("reason", &OutputResult::reason, "Of budget_spent and diverged.")
      .def_ro("steps", &OutputResult::steps)
      .def_ro("step", &OutputResult::step, "eta; 0 where the optimizer has none.")
      .def_ro("relative_misfit", &OutputResult::relative_misfit, "Of the final weights, evaluated in double.")
      .def_ro("certificate", &OutputResult::certificate)
      .def_ro("certified_at", &OutputResult::certified_at, "First step at which a certificate held.")
      .def_ro("curve", &OutputResult::curve)
      .def_ro("theorem", &OutputResult::theorem)
      .def_ro("seconds", &OutputResult::seconds);
}

void bind_fit(nb::module_& m) {
  using O = FitOptions;
  nb::class_<O>(m, "FitOptions")
      .def(nb::init<>())
      .def_rw("activation", &O::activation)
      .def_rw("width", &O::width)
      .def_rw("scaling", &O::scaling)
      .def_rw("optimizer", &O::optimizer)
      .def_rw("step", &O::step)
      .def_rw("batch", &O::batch)
      .def_rw("precision", &O::precision)
      .def_rw("max_steps", &O::max_steps)
      .def_rw("tolerance", &O::tolerance)
      .def_rw("stop", &O::stop)
      .def_rw("certify_every", &O::certify_every)
      .def_rw("record_every", &O::record_every)
      .def_rw("polish", &O::polish)
      .def_rw("flow_tolerance", &O::flow_tolerance)
      .def_rw("space", &O::space)
      .def_rw("center", &O::center)
      .def_rw("normalize", &O::normalize)
      .def_rw("failure_probability", &O::failure_probability)
      .def_rw("seed", &O::seed)
      .def_rw("checkpoint", &O::checkpoint)
      .def_rw("checkpoint_every_s", &O::checkpoint_every_s)
      .def_rw("resume", &O::resume);
  bind_network(m);
  bind_parts_of_fit(m);

  using R = FitResult;
  nb::class_<Fitted> answer(m, "FitResult", "A trained network and what is proved about it.");
  answer.def_ro("conclusion", &R::conclusion, "The answer in a sentence or two.")
      .def_prop_ro(
          "status", [](const Fitted& r) { return name(r.status); },
          "certified | converged | budget_spent | diverged: the worst of the outputs'.")
      .def_ro("n", &R::n, "Points.")
      .def_ro("d", &R::d, "Features.")
      .def_ro("n_distinct", &R::n_distinct, "Distinct points; all samples are trained on.")
      .def_ro("conflicts", &R::conflicts, "Equal points with different labels.")
      .def_ro("nearest", &R::nearest, "Different points within 1e-6, rather with different labels, or None.")
      .def_ro("steps", &R::steps, "Most of any output.")
      .def_ro("step", &R::step, "eta of the first output.")
      .def_ro("tolerance", &R::tolerance, "The one in force.")
      .def_ro("relative_misfit", &R::relative_misfit, "||R||_F/||Y||_F over all outputs.")
      .def_ro("certificate", &R::certificate,
              "All outputs': the weakest kind, largest radius, smallest margin.")
      .def_ro("certified_at", &R::certified_at, "By this step each output had held a certificate.")
      .def_ro("max_distance", &R::max_distance)
      .def_ro("flipped_fraction", &R::flipped_fraction)
      .def_prop_ro(
          "outputs", [](nb::handle self) { return references(self, nb::cast<Fitted&>(self).outputs); },
          nb::sig("def outputs(self) -> list[OutputResult]"), "Training of each output, curve included.")
      .def_ro("forecast_missing", &R::forecast_missing, "Why there is no forecast; empty if there is.")
      .def_ro("space", &R::space, "weights | gram.")
      .def_ro("network", &R::network)
      .def_ro("polished", &R::polished, "relu: a network whose misfit is at rounding level, or None.")
      .def_ro("seconds", &R::seconds);
  add_output<Fitted>(
      answer, [](const Fitted& a) { return fit_text(*a.options.data, a.options.settings, a); },
      [](const Fitted& a) { return fit_json(*a.options.data, a.options.settings, a); },
      [](RunFolder& folder, const Fitted& a) {
        write_fit(folder, *a.options.data, a.options.data->read, a.options.settings, a, {a.call});
      });

  m.def(
      "fit",
      [](const std::shared_ptr<DatasetAsRead>& data, const FitOptions& options, const std::string& call,
         const nb::object& progress) {
        auto result = value_of_work(progress, [&](Progress& p) { return fit(*data, options, p); });
        return Fitted(std::move(result), {data, options}, call);
      },
      "data"_a, "options"_a, "call"_a, "progress"_a.none());
}

}  // namespace

void bind_shallow(nb::module_& m) {
  bind_certify(m);
  bind_fit(m);
}

}  // namespace zeroloss::python
