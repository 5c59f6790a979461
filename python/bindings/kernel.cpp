#include <fmt/format.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <cmath>
#include <tuple>

#include "bindings.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/kernel/conjugate_gradients.hpp"
#include "zeroloss/kernel/deep.hpp"
#include "zeroloss/kernel/gram.hpp"
#include "zeroloss/kernel/inducing.hpp"
#include "zeroloss/kernel/posterior.hpp"
#include "zeroloss/kernel/ridge.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss::python {
namespace {

/// A Gram kernel as a full matrix.
struct FullGram {
  RowMatrix K;
  double entry_error = 0;
  std::vector<Pair> closest;
  Index near_pairs = 0;
  double separation = 0;
};

RowMatrix full(const Packed<double>& packed) {
  constexpr Index kTile = 64;  // both triangles of a tile stay in the cache
  const Index n = packed.n(), tiles = (n + kTile - 1) / kTile;
  RowMatrix K(n, n);
#pragma omp parallel for schedule(dynamic)
  for (Index b = 0; b < tiles; ++b)
    for (Index a = b; a < tiles; ++a)
      for (Index j = b * kTile; j < std::min(n, (b + 1) * kTile); ++j)
        for (Index i = std::max(j, a * kTile); i < std::min(n, (a + 1) * kTile); ++i)
          K(i, j) = K(j, i) = packed(i, j);
  return K;
}

Vector weights_of(const std::optional<Array1>& weights) {
  if (!weights) return {};
  return Eigen::Map<const Vector>(weights->data(), static_cast<Index>(weights->shape(0)));
}

/// What a bound says: of each output and each difference of two, relative residual, whether it is proved.
std::tuple<Matrix, double, bool> said(PredictorBound bound) {
  return {std::move(bound.error), bound.relative, bound.verified};
}

std::optional<std::pair<Matrix, Matrix>> parts(std::optional<RidgeSolution> solution) {
  if (!solution) return {};
  return std::pair(std::move(solution->coefficients), std::move(solution->residuals));
}

/// The points as the kernels want them, copied once.
RowMatrix unit_points(const Array2& X, bool center, bool normalize) {
  Dataset points;
  points.X = rows(X);
  points.name = "X";
  check_dataset(points);
  const Center mean = center ? mean_point(points.X) : Center{};
  if (!normalize) check_unit_rows(points, mean);
  normalize_rows(points, mean);
  return std::move(points.X);
}

/// f of every number, in the shape they come in.
template <class Function>
nb::object apply(const Function& f, nb::handle numbers) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object values = numpy.attr("asarray")(numbers, "dtype"_a = "float64", "order"_a = "C");
  const auto in = nb::cast<Array>(values);
  const nb::object result = numpy.attr("empty_like")(values, "order"_a = "C");
  const auto out = nb::cast<nb::ndarray<double, nb::c_contig, nb::device::cpu>>(result);
  for (std::size_t k = 0; k < in.size(); ++k) out.data()[k] = f(in.data()[k]);
  return nb::hasattr(numbers, "__len__") ? result : result.attr("reshape")(-1)[nb::int_(0)];
}

/// The same for a function of a correlation: [-1, 1], but for the rounding of an inner product.
template <class Function>
nb::object apply_to_correlations(const Function& f, nb::handle rho) {
  return apply(
      [&f](double r) {
        if (!(std::abs(r) <= 1 + 1e-9))
          throw std::invalid_argument("rho must be in [-1, 1]; got " +
                                      nb::cast<std::string>(nb::str(nb::float_(r))));
        return f(r);
      },
      rho);
}

constexpr std::array kParities{std::pair{"none", Parity::none}, std::pair{"even", Parity::even},
                               std::pair{"odd", Parity::odd},
                               std::pair{"constant_plus_odd", Parity::constant_plus_odd}};

std::string name(Parity wanted) {
  for (const auto& [text, parity] : kParities)
    if (parity == wanted) return text;
  return "none";
}

Parity parity_of(const std::string& name) {
  for (const auto& [text, parity] : kParities)
    if (name == text) return parity;
  throw std::invalid_argument("Activation: dphi_parity must be none, even, odd or constant_plus_odd; got '" +
                              name + "'");
}

void bind_activation(nb::module_& m) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  nb::class_<Activation>(
      m, "Activation",
      "An activation phi with its derivatives and suprema. A user's own brings phi, phi', B and "
      "M; what is computed with it is computed, not verified.")
      .def(
          "__init__",
          [](Activation* self, std::string name, std::function<double(double)> phi,
             std::function<double(double)> dphi, double B, double M,
             std::optional<std::function<double(double)>> d2phi, const std::string& dphi_parity) {
            new (self) Activation{std::move(name),
                                  std::move(phi),
                                  std::move(dphi),
                                  d2phi ? std::move(*d2phi) : nullptr,
                                  B,
                                  M,
                                  parity_of(dphi_parity),
                                  false};
          },
          "name"_a, "phi"_a, "dphi"_a, nb::kw_only(), "B"_a = kInfinite, "M"_a = kInfinite,
          "d2phi"_a.none() = nb::none(), "dphi_parity"_a = "none")
      .def_ro("name", &Activation::name, "As it is called.")
      .def(
          "phi", [](const Activation& a, nb::handle z) { return apply(a.phi, z); }, "z"_a,
          nb::sig("def phi(self, z: numpy.typing.ArrayLike) -> typing.Any"), "phi(z), number by number.")
      .def(
          "dphi", [](const Activation& a, nb::handle z) { return apply(a.dphi, z); }, "z"_a,
          nb::sig("def dphi(self, z: numpy.typing.ArrayLike) -> typing.Any"),
          "phi'(z), number by number; relu'(0) = 1.")
      .def_ro("B", &Activation::B, "sup |phi'|.")
      .def_ro("M", &Activation::M, "sup |phi''|; infinite where phi has a kink.")
      .def_ro("tabulated", &Activation::tabulated, "Its Hermite coefficients come with a proven error.")
      // Functions of Python stay what they are, so a copy can be made of all of it; the library's own are
      // found by name.
      .def("__reduce__",
           [](const Activation& a) {
             const nb::module_ kernel = nb::module_::import_("zeroloss.kernel");
             if (a.tabulated) return nb::make_tuple(kernel.attr("activation"), nb::make_tuple(a.name));
             const nb::object make =
                 nb::module_::import_("functools")
                     .attr("partial")(kernel.attr("Activation"), "B"_a = a.B, "M"_a = a.M,
                                      "d2phi"_a = a.d2phi, "dphi_parity"_a = name(a.dphi_parity));
             return nb::make_tuple(make, nb::make_tuple(a.name, a.phi, a.dphi));
           })
      .def("__repr__", [](const Activation& a) { return "<Activation " + a.name + ">"; });
  m.def("activation", &activation, "name"_a, nb::rv_policy::reference);
  m.def("activation_names", &activation_names);
}

void bind_duals(nb::module_& m) {
  nb::class_<Dual>(m, "Dual",
                   "A dual activation: rho -> E[f(a) f(b)], (a, b) standard normal with correlation rho.")
      .def(
          "__call__", [](const Dual& f, nb::handle rho) { return apply_to_correlations(f, rho); }, "rho"_a,
          nb::sig("def __call__(self, rho: numpy.typing.ArrayLike) -> typing.Any"),
          "The value at each rho in [-1, 1]; ValueError for another.")
      .def_ro("coefficients", &Dual::coefficients, "Of a polynomial in rho; empty for a closed form.")
      .def_ro("error", &Dual::error, "Bound of |computed - exact| over |rho| <= 1; estimate unless verified.")
      .def_ro("slope", &Dual::slope,
              "sup of the derivative of rho f(rho); infinite for the h of relu and leaky_relu.")
      .def_ro("plain_slope", &Dual::plain_slope, "sup of the derivative of f(rho).")
      .def_ro("verified", &Dual::verified, "`error` is proven.");
  m.def("dual_activation", &dual_activation, "activation"_a, "derivative"_a,
        nb::call_guard<nb::gil_scoped_release>());

  nb::class_<Kernel>(m, "Kernel", "A kernel on the sphere: k(rho) of the inner product of two unit vectors.")
      .def(
          "__call__", [](const Kernel& k, nb::handle rho) { return apply_to_correlations(k, rho); }, "rho"_a,
          nb::sig("def __call__(self, rho: numpy.typing.ArrayLike) -> typing.Any"),
          "k(rho) at each rho in [-1, 1]; ValueError for another.")
      .def_ro("name", &Kernel::name)
      .def_ro("dual", &Kernel::dual, "Of one layer.")
      .def_ro("times_rho", &Kernel::times_rho, "k(rho) = rho dual(rho), otherwise dual(rho).")
      .def_prop_ro("error", &Kernel::error,
                   "Bound of |computed - exact| over |rho| <= 1; estimate unless verified.")
      .def_prop_ro("slope", &Kernel::slope,
                   "sup of the derivative over |rho| <= 1; infinite for relu and leaky_relu.")
      .def_prop_ro("verified", &Kernel::verified, "`error` is proven.")
      .def("__repr__", [](const Kernel& k) { return "<Kernel " + k.name + ">"; });
  m.def(
      "deep_kernel",
      [](const Activation& activation, Index layers, bool residual, double scale, bool features) {
        const Depth depth{.layers = layers, .residual = residual, .scale = scale};
        return features ? deep_features(activation, depth) : deep_tangent(activation, depth);
      },
      "activation"_a, "layers"_a, "residual"_a, "scale"_a, "features"_a,
      nb::call_guard<nb::gil_scoped_release>());
  m.def("sigma", &sigma, "activation"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("sigma_features", &sigma_features, "activation"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("power", &power, "r"_a);
}

void bind_grams(nb::module_& m) {
  nb::class_<Pair>(m, "Pair", "Two points and their distance.")
      .def_ro("i", &Pair::i, "Row of X, > j.")
      .def_ro("j", &Pair::j, "Row of X.")
      .def_ro("distance", &Pair::distance, "||x_i - x_j||, or ||x_i + x_j|| for an antipodal pair.")
      .def_ro("antipodal", &Pair::antipodal, "x_i is near -x_j.")
      .def("__repr__", [](const Pair& p) {
        return "<rows " + fmt::to_string(p.j) + " and " + fmt::to_string(p.i) + ", distance " +
               fmt::to_string(p.distance) + (p.antipodal ? ", antipodal>" : ">");
      });
  nb::class_<FullGram>(m, "Gram", "The Gram matrix of a kernel.")
      .def_ro("K", &FullGram::K, "n x n, symmetric.")
      .def_ro("entry_error", &FullGram::entry_error,
              "Proven bound of ||K - exact||_F for the exactly normalised rows; an estimate for a user's "
              "activation.")
      .def_ro("closest", &FullGram::closest, "The 16 closest pairs up to sign, nearest first.")
      .def_ro("near_pairs", &FullGram::near_pairs, "Pairs closer than 1.42e-3 up to sign.")
      .def_ro("separation", &FullGram::separation, "Proven lower bound of the least distance up to sign.");
  nb::class_<EigenPair>(m, "EigenPair", "An eigenvalue with its unit vector.")
      .def_ro("value", &EigenPair::value)
      .def_prop_ro("vector", in_place<EigenPair>(&EigenPair::vector), "Unit length.")
      .def_ro("residual", &EigenPair::residual, "Relative, of the operator that Lanczos ran on.")
      .def_ro("iterations", &EigenPair::iterations);
  nb::class_<VerifiedBound>(m, "VerifiedBound",
                            "A statement about lambda_min that holds in exact arithmetic.")
      .def_ro("holds", &VerifiedBound::holds)
      .def_ro("lambda_min", &VerifiedBound::lambda_min, "If it holds: lambda_min >= this > 0.")
      .def_ro("loss", &VerifiedBound::loss, "What rounding and entry errors cost.")
      .def_ro("factorizations", &VerifiedBound::factorizations, "Spent on the proof.");
  nb::class_<LambdaMin>(m, "LambdaMin", "The smallest eigenvalue of a kernel, computed and proven.")
      .def_ro("lowest", &LambdaMin::lowest,
              "As computed; its value may be within the loss of 0, even negative.")
      .def_ro("ridge", &LambdaMin::ridge, "Added to compute it; 0 unless the kernel is numerically singular.")
      .def_ro("verified", &LambdaMin::verified)
      .def("__repr__", [](const LambdaMin& l) {
        return l.verified.holds
                   ? "<lambda_min >= " + decimal(l.verified.lambda_min, 6, Rounding::down) + ", verified>"
                   : "<lambda_min = " + decimal(l.lowest.value, 6) + ", computed, not verified>";
      });
}

void bind_predictors(nb::module_& m) {
  m.def(
      "solve_conjugate_gradients",
      [](const Array2& X, const Kernel& kernel, double ridge, const Array2& Y,
         const std::optional<Array1>& weights, double tolerance, Index most, double lambda_min,
         const nb::object& progress) {
        return value_of_work(progress, [&](Progress& p) {
          auto found = solve_conjugate_gradients(
              unit_points(X, false, false), kernel, weights_of(weights), rows(Y),
              {.ridge = ridge, .tolerance = tolerance, .most = most, .lambda_min = lambda_min}, p);
          return std::tuple(std::move(found.coefficients), found.steps, said(std::move(found.bound)));
        });
      },
      "X"_a, "kernel"_a, "ridge"_a, "Y"_a, "weights"_a.none() = nb::none(), "tolerance"_a = 1e-8,
      "most"_a = 500, "lambda_min"_a = 0.0, "progress"_a.none() = nb::none(),
      "Coefficients of (K + ridge W^-1)^-1 Y, n x c, the steps, and what predictor_bound says.");
  m.def(
      "predictor_bound",
      [](const Array2& X, const Kernel& kernel, double ridge, const Array2& Y, const Array2& C,
         const std::optional<Array1>& weights, double lambda_min, const nb::object& progress) {
        return value_of_work(progress, [&](Progress& p) {
          const RowMatrix points = unit_points(X, false, false);
          const Vector w = weights_of(weights);
          const Matrix targets = rows(Y), coefficients = rows(C);
          return said(predictor_bound({points, w, ridge, targets, coefficients, lambda_min}, kernel, p));
        });
      },
      "X"_a, "kernel"_a, "ridge"_a, "Y"_a, "C"_a, "weights"_a.none() = nb::none(), "lambda_min"_a = 0.0,
      "progress"_a.none() = nb::none(),
      "c x c: what outputs, and differences of two, are off the exact predictor's at every point; the "
      "relative "
      "residual; whether it is proved.");
  m.def(
      "bounded_values",
      [](const Array2& Z, const Array2& X, const Kernel& kernel, const Array2& C,
         const nb::object& progress) {
        return value_of_work(progress, [&](Progress& p) {
          BoundedValues v =
              bounded_values(unit_points(Z, false, false), unit_points(X, false, false), kernel, rows(C), p);
          return std::pair(std::move(v.values), std::move(v.error));
        });
      },
      "Z"_a, "X"_a, "kernel"_a, "C"_a, "progress"_a.none() = nb::none(),
      "Sums of kernels at X for points Z, and what rounding may have made of them, m x c each.");
  m.def(
      "decided_classes",
      [](const Array2& values, const Array2& rounding, const Array2& error) {
        return decided_classes({rows(values), rows(rounding)}, rows(error));
      },
      "values"_a, "rounding"_a, "error"_a, "Whose class is proved to be that of the exact predictor.");
  nb::class_<Posterior>(
      m, "Posterior",
      "The Gaussian process with covariance k and noise of variance ridge/w_i, given targets at "
      "unit rows X.")
      .def(
          "__init__",
          [](Posterior* self, const Array2& X, const Kernel& kernel, double ridge,
             const std::optional<Array1>& weights, const nb::object& progress) {
            const Vector w = weights_of(weights);
            work(progress, [&](Progress& p) {
              new (self) Posterior(unit_points(X, false, false), kernel, w, ridge, p);
            });
          },
          "X"_a, "kernel"_a, "ridge"_a, "weights"_a.none() = nb::none(), "progress"_a.none() = nb::none(),
          "n^2/2 doubles.")
      .def(
          "variance",
          [](const Posterior& posterior, const Array2& Z) {
            return value_of_work(
                nb::none(), [&](Progress& p) { return posterior.variance(unit_points(Z, false, false), p); });
          },
          "Z"_a, "Of f at unit rows Z.");
}

}  // namespace

void bind_kernel(nb::module_& m) {
  bind_predictors(m);
  bind_activation(m);
  bind_duals(m);
  bind_grams(m);
  m.def(
      "unit_rows",
      [](const Array2& X, bool center) {
        return value_of_work(nb::none(), [&](Progress&) { return unit_points(X, center, true); });
      },
      "X"_a, "center"_a);
  m.def(
      "gram",
      [](const Array2& X, const Kernel& kernel, bool center, bool normalize, const nb::object& progress) {
        return value_of_work(progress, [&](Progress& p) {
          const double n = static_cast<double>(X.shape(0));
          require_memory(8 * 1.5 * n * n, "K with the half that it is made from", "use fewer points");
          Gram<double> packed = gram(unit_points(X, center, normalize), kernel, p);
          return FullGram{full(packed.K), packed.entry_error, std::move(packed.closest), packed.near_pairs,
                          packed.separation};
        });
      },
      "X"_a, "kernel"_a, "center"_a, "normalize"_a, "progress"_a.none() = nb::none());
  m.def(
      "cross_gram",
      [](const Array2& X, const Array2& Z, const Kernel& kernel, bool normalize, const nb::object& progress) {
        return value_of_work(progress, [&](Progress& p) {
          return cross_gram(unit_points(X, false, normalize), unit_points(Z, false, normalize), kernel, p);
        });
      },
      "X"_a, "Z"_a, "kernel"_a, "normalize"_a, "progress"_a.none() = nb::none());
  nb::class_<RidgePath>(
      m, "RidgePath",
      "(K + ridge W^-1)^-1 Y for many ridges at the cost of one, K the kernel of unit rows X.")
      .def(
          "__init__",
          [](RidgePath* self, const Array2& X, const Kernel& kernel, const std::optional<Array1>& weights,
             const nb::object& progress) {
            const Vector w = weights_of(weights);
            work(progress, [&](Progress& p) {
              const Gram<double> made = gram(unit_points(X, false, false), kernel, p);
              new (self) RidgePath(made.K, w, p);
            });
          },
          "X"_a, "kernel"_a, "weights"_a.none() = nb::none(), "progress"_a.none() = nb::none(),
          "n^2 doubles, 2 n^2 while it is made; Ctrl-C is heard.")
      .def(
          "solve",
          [](const RidgePath& path, double ridge, const Array2& Y) {
            return value_of_work(nb::none(), [&](Progress&) { return parts(path.solve(ridge, rows(Y))); });
          },
          "ridge"_a, "Y"_a,
          "Coefficients and leave-one-out residuals, n x c each; None where K + ridge W^-1 is numerically "
          "singular.");
  m.def(
      "solve_ridge",
      [](const Array2& X, const Kernel& kernel, double ridge, const Array2& Y,
         const std::optional<Array1>& weights, const nb::object& progress) {
        return value_of_work(progress, [&](Progress& p) {
          Gram<double> made = gram(unit_points(X, false, false), kernel, p);
          return parts(solve_ridge(std::move(made.K), weights_of(weights), ridge, rows(Y), p));
        });
      },
      "X"_a, "kernel"_a, "ridge"_a, "Y"_a, "weights"_a.none() = nb::none(), "progress"_a.none() = nb::none(),
      "What RidgePath.solve returns, for one ridge.");
  m.def(
      "solve_inducing",
      [](const Array2& X, const Array2& Z, const Kernel& kernel, double ridge, const Array2& Y,
         const std::optional<Array1>& weights, double tolerance, Index most, const nb::object& progress) {
        return value_of_work(progress, [&](Progress& p) {
          auto found = solve_inducing(unit_points(X, false, false), unit_points(Z, false, false), kernel,
                                      weights_of(weights), rows(Y), {ridge, tolerance, most}, p);
          return std::tuple(std::move(found.coefficients), found.steps, found.residual);
        });
      },
      "X"_a, "Z"_a, "kernel"_a, "ridge"_a, "Y"_a, "weights"_a.none() = nb::none(), "tolerance"_a = 1e-6,
      "most"_a = 100, "progress"_a.none() = nb::none(),
      "Coefficients of the kernels at Z, m x c, the steps of conjugate gradients and their residual.");
  m.def(
      "lambda_min",
      [](const Array2& X, const Kernel& kernel, bool center, bool normalize, const nb::object& progress) {
        return value_of_work(
            progress, [&](Progress& p) { return lambda_min(unit_points(X, center, normalize), kernel, p); });
      },
      "X"_a, "kernel"_a, "center"_a, "normalize"_a, "progress"_a.none() = nb::none());
}

}  // namespace zeroloss::python
