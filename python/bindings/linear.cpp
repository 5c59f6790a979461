#include "zeroloss/linear/linear.hpp"

#include <fmt/format.h>

#include "bindings.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/present/linear.hpp"

namespace zeroloss::python {

template <>
struct Members<LinearProblem> {
  static constexpr std::array names{"R", "Sigma", "root", "noise", "sigma_min", "sigma_max", "n"};
  static auto of(auto& p) { return std::tie(p.R, p.Sigma, p.root, p.noise, p.sigma_min, p.sigma_max, p.n); }
};
template <>
struct Members<NamedProblem> {
  static constexpr std::array names{"problem", "name", "digest", "sigma", "seed"};
  static auto of(auto& p) { return std::tie(p.problem, p.name, p.digest, p.sigma, p.seed); }
};
template <>
struct Members<LinearResnet> {
  static constexpr std::array names{"A"};
  static auto of(auto& n) { return std::tie(n.A); }
};
template <>
struct Members<DepthResult> {
  static constexpr std::array names{"layers", "factorizations", "descent"};
  static auto of(auto& d) { return std::tie(d.layers, d.factorizations, d.descent); }
};
template <>
struct Members<LinearResult> {
  static constexpr std::array names{"conclusion", "interrupted",   "d",      "n",      "map", "treatment",
                                    "problem",    "layers_needed", "depths", "seconds"};
  static auto of(auto& r) {
    return std::tie(r.conclusion, r.interrupted, r.d, r.n, r.map, r.treatment, r.problem, r.layers_needed,
                    r.depths, r.seconds);
  }
};

namespace {

using Solved = Answer<LinearResult, On<NamedProblem, LinearOptions>>;

std::string digest_of(const Array2& A) {
  return sha256({reinterpret_cast<const char*>(A.data()), sizeof(double) * A.size()});
}

/// Other threads of Python run meanwhile. LAPACK does the work in one call, so Ctrl-C takes effect after it.
template <class Make>
std::shared_ptr<NamedProblem> problem_of_work(const Make& make) {
  return std::make_shared<NamedProblem>(value_of_work(nb::none(), [&](Progress&) { return make(); }));
}

void bind_problem(nb::module_& m) {
  nb::class_<LinearProblem>(m, "LinearProblem", "y = R x + noise, E[x x^T] = Sigma.")
      .def_prop_ro("R", in_place<LinearProblem>(&LinearProblem::R), "d x d.")
      .def_prop_ro("Sigma", in_place<LinearProblem>(&LinearProblem::Sigma), "d x d, positive definite.")
      .def_ro("noise", &LinearProblem::noise, "E||y - R x||^2, the risk that no network goes below.")
      .def_ro("sigma_min", &LinearProblem::sigma_min, "Eigenvalues of Sigma.")
      .def_ro("sigma_max", &LinearProblem::sigma_max)
      .def_ro("n", &LinearProblem::n, "Points, if R and Sigma come from data; else 0.");
  nb::class_<NamedProblem> problem(m, "NamedProblem", "A linear problem with its name.");
  problem.def_ro("problem", &NamedProblem::problem)
      .def_ro("name", &NamedProblem::name)
      .def_ro("digest", &NamedProblem::digest);
  add_state(problem, "NamedProblem");
  m.def(
      "read_linear_problem",
      [](const std::string& source, std::uint64_t seed) {
        return problem_of_work([&] { return read_linear_problem(source, seed); });
      },
      "source"_a, "seed"_a);
  m.def(
      "linear_map",
      [](const Array2& R, const std::optional<Array2>& sigma) {
        return problem_of_work([&] {
          const Matrix map = rows(R);
          const Matrix covariance = sigma ? Matrix(rows(*sigma)) : Matrix::Identity(map.rows(), map.rows());
          return NamedProblem{population(map, covariance), "R", digest_of(R)};
        });
      },
      "R"_a, "sigma"_a.none());
  m.def(
      "linear_data",
      [](const Array2& X, const Array2& Y) {
        return problem_of_work([&] {
          return NamedProblem{regression(rows(X), rows(Y)), "X, Y", digest_of(X)};
        });
      },
      "X"_a, "Y"_a);
}

void bind_parts(nb::module_& m) {
  nb::class_<LinearResnet>(m, "LinearResnet", "(I + A_l) .. (I + A_1); layer 1 is applied first.")
      .def_prop_ro(
          "A",
          [](nb::handle self) {
            nb::list layers;
            for (const Matrix& A : nb::cast<const LinearResnet&>(self).A) layers.append(nb::cast(A));
            return layers;
          },
          nb::sig("def A(self) -> list[numpy.typing.NDArray[numpy.float64]]"), "The layers, each d x d.")
      .def_prop_ro("layers", &LinearResnet::layers)
      .def("product", &LinearResnet::product, "(I + A_l) .. (I + A_1).")
      .def("max_norm", &LinearResnet::max_norm, "An upper bound of max ||A_i||, proved.");
  bind_result<MapSummary>(m, "MapSummary", "The size and the orientation of a map.");
  bind_result<Factorization>(m, "Factorization",
                             "Stored layers, and a proof that R is exactly such a product.")
      .def("__repr__", [](const Factorization& f) {
        return "<" + f.name + ", " + fmt::to_string(f.layers) + " layers" +
               (f.missing.empty() ? ", max ||A_i|| " + fmt::to_string(f.max_norm) : ": " + f.missing) + ">";
      });
  bind_result<Landscape>(m, "Landscape", "Where a network stands.");
  bind_result<DescentPoint>(m, "DescentPoint", "One recorded step of gradient descent.")
      .def_ro("at", &DescentPoint::at);
  bind_result<DescentResult>(m, "DescentResult", "Gradient descent from A = 0.");
  nb::class_<DepthResult>(m, "DepthResult", "One depth.")
      .def_ro("layers", &DepthResult::layers)
      .def_prop_ro(
          "factorizations",
          [](nb::handle self) { return references(self, nb::cast<DepthResult&>(self).factorizations); },
          nb::sig("def factorizations(self) -> list[Factorization]"), "paper, polar, logarithm.")
      .def_ro("descent", &DepthResult::descent, "None unless trained.")
      .def("smallest", &DepthResult::smallest, nb::rv_policy::reference_internal,
           "The factorisation with the least max_norm; up to rounding, the first.")
      .def("small", &DepthResult::small, "One exists whose max_norm is below 1.");
}

}  // namespace

void bind_linear(nb::module_& m) {
  bind_options<DescentOptions>(m, "DescentOptions");
  bind_options<LinearOptions>(m, "LinearOptions").def_rw("descent", &LinearOptions::descent);
  bind_problem(m);
  bind_parts(m);

  nb::class_<Solved> answer(m, "LinearResult", "Exact networks with small layers, and where descent went.");
  bind_fields<LinearResult>(answer, {"depths"});
  answer.def_ro("map", &LinearResult::map, "Of R as given.")
      .def_ro("problem", &LinearResult::problem, "The one that was solved.")
      .def_prop_ro(
          "depths", [](nb::handle self) { return references(self, nb::cast<Solved&>(self).depths); },
          nb::sig("def depths(self) -> list[DepthResult]"));
  add_output<Solved>(
      answer, [](const Solved& a) { return linear_text(*a.options.data, a.options.settings, a); },
      [](const Solved& a) { return linear_json(*a.options.data, a.options.settings, a); },
      [](RunFolder& folder, const Solved& a) {
        write_linear(folder, *a.options.data, a.options.settings, a, {a.call});
      });

  add_pickles(answer);

  m.def(
      "linear",
      [](const std::shared_ptr<NamedProblem>& problem, const LinearOptions& options, const std::string& sigma,
         std::uint64_t seed, const std::string& call, const nb::object& progress) {
        auto result =
            value_of_work(progress, [&](Progress& p) { return linear(problem->problem, options, p); });
        auto asked = std::make_shared<NamedProblem>(*problem);  // and where it came from
        asked->sigma = sigma;
        asked->seed = seed;
        return Solved(std::move(result), {std::move(asked), options}, call);
      },
      "problem"_a, "options"_a, "sigma"_a, "seed"_a, "call"_a, "progress"_a.none());
}

}  // namespace zeroloss::python
