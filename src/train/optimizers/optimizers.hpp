#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "train/fit_options.hpp"
#include "train/optimizer.hpp"
#include "zeroloss/train/optimizers.hpp"

/// The register of optimizers: each is one .cpp of this folder, with a row of facts and a factory, and a line
/// in optimizers.cpp. Nothing else asks for their names: what
/// differs between them is a fact.
namespace zeroloss::internal {

/// What an optimizer of one output begins with. `step` is 0 where it takes none, or where J = 0.
template <class T>
struct Beginning {
  const Points<T>& points;
  const Problem& problem;
  Space space;
  double step;
  const CheckedOptions& options;
  std::uint64_t index;  ///< of the output
};
template <class T>
using Make = std::unique_ptr<TwoLayerOptimizer> (*)(const Beginning<T>&);

/// The square of what is left after k steps (flow: at time k) of a component of r_0 along an eigenvector of
/// the infinitely wide network's H, with eigenvalue h, as a fraction of its square at the start.
using Left = double (*)(double h, double step, const FitOptions& options, double k);

/// What training an output at n points takes beside its Trainer, certificates included, in bytes.
using Bytes = double (*)(const CheckedOptions& options, Index n, Index d, Space space);

struct Method {
  OptimizerFacts facts;
  Make<double> make64;
  Make<float> make32;                          ///< none: float64 only
  Left left;                                   ///< none: no forecast
  std::span<const std::string_view> theorems;  ///< ids; may stand beside a run: the first that fits does
  Bytes bytes;                                 ///< none: next to nothing

  /// A Make<float> and a Left, or nullptr: by their types, for with sanitizers GCC compares no function's
  /// address with nullptr in a constant.
  template <class Float = std::nullptr_t, class Remaining = std::nullptr_t>
  constexpr Method(const OptimizerFacts& known, Make<double> make, Float make_float = nullptr,
                   Remaining remaining = nullptr, std::span<const std::string_view> beside = {},
                   Bytes more = nullptr)
      : facts(known), make64(make), make32(make_float), left(remaining), theorems(beside), bytes(more) {
    facts.float32 = !std::is_null_pointer_v<Float>;
    facts.forecast = !std::is_null_pointer_v<Remaining>;
  }
  template <class T>
  std::unique_ptr<TwoLayerOptimizer> make(const Beginning<T>& beginning) const {
    if constexpr (std::is_same_v<T, float>)
      return make32(beginning);
    else
      return make64(beginning);
  }
};

/// Throws std::out_of_range for a name that is not in the register.
const Method& method(std::string_view name);

}  // namespace zeroloss::internal
