// What scripts/check_libm.py measures: libm, Highway's asin on each instruction set, and our activations. A
// shared library of C functions; long double finds the worst points, mpmath then judges them.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scripts/check_libm.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace check::HWY_NAMESPACE {
double Asin(double x) {
  const hwy::HWY_NAMESPACE::CappedTag<double, 1> d;
  return hwy::HWY_NAMESPACE::GetLane(hwy::HWY_NAMESPACE::Asin(d, hwy::HWY_NAMESPACE::Set(d, x)));
}
}  // namespace check::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "zeroloss/kernel/activation.hpp"

namespace check {
namespace {

HWY_EXPORT(Asin);
double highway_asin(double x) { return HWY_DYNAMIC_DISPATCH(Asin)(x); }

using Long = long double;
const Long kPi = std::acos(Long{-1});

struct Function {
  std::function<double(double)> value;
  std::function<Long(Long)> reference;
};

Long sigmoid(Long z) { return z < 0 ? std::exp(z) / (1 + std::exp(z)) : 1 / (1 + std::exp(-z)); }
Long dsigmoid(Long z) { return sigmoid(z) * sigmoid(-z); }
Long normal_cdf(Long z) { return std::erfc(-z / std::sqrt(Long{2})) / 2; }
Long density(Long z) { return std::exp(-z * z / 2) / std::sqrt(2 * kPi); }

std::map<std::string, Function> functions() {
  std::map<std::string, Function> all{
      {"exp", {[](double x) { return std::exp(x); }, [](Long x) { return std::exp(x); }}},
      {"log1p", {[](double x) { return std::log1p(x); }, [](Long x) { return std::log1p(x); }}},
      {"tanh", {[](double x) { return std::tanh(x); }, [](Long x) { return std::tanh(x); }}},
      {"erf", {[](double x) { return std::erf(x); }, [](Long x) { return std::erf(x); }}},
      {"erfc", {[](double x) { return std::erfc(x); }, [](Long x) { return std::erfc(x); }}},
      {"acos", {[](double x) { return std::acos(x); }, [](Long x) { return std::acos(x); }}},
      {"asin", {[](double x) { return std::asin(x); }, [](Long x) { return std::asin(x); }}},
      {"sin", {[](double x) { return std::sin(x); }, [](Long x) { return std::sin(x); }}},
      {"cos", {[](double x) { return std::cos(x); }, [](Long x) { return std::cos(x); }}},
      {"sqrt", {[](double x) { return std::sqrt(x); }, [](Long x) { return std::sqrt(x); }}},
      {"atan2",
       {[](double t) { return std::atan2(2 * std::sin(t / 2), 2 * std::cos(t / 2)); },
        [](Long t) {
          const auto half = static_cast<double>(t) / 2;
          return std::atan2(Long{2 * std::sin(half)}, Long{2 * std::cos(half)});
        }}},
      {"Highway Asin", {highway_asin, [](Long x) { return std::asin(x); }}},
  };
  const std::map<std::string, std::array<std::function<Long(Long)>, 3>> references{
      {"softplus",
       {[](Long z) { return std::max(z, Long{0}) + std::log1p(std::exp(-std::abs(z))); }, sigmoid, dsigmoid}},
      {"tanh",
       {[](Long z) { return std::tanh(z); }, [](Long z) { return 4 * dsigmoid(2 * z); },
        [](Long z) { return -8 * std::tanh(z) * dsigmoid(2 * z); }}},
      {"sigmoid", {sigmoid, dsigmoid, [](Long z) { return -dsigmoid(z) * std::tanh(z / 2); }}},
      {"erf",
       {[](Long z) { return std::erf(z); }, [](Long z) { return 2 / std::sqrt(kPi) * std::exp(-z * z); },
        [](Long z) { return -4 * z / std::sqrt(kPi) * std::exp(-z * z); }}},
      {"gelu",
       {[](Long z) { return z * normal_cdf(z); }, [](Long z) { return normal_cdf(z) + z * density(z); },
        [](Long z) { return density(z) * (2 - z * z); }}},
      {"silu",
       {[](Long z) { return z * sigmoid(z); }, [](Long z) { return sigmoid(z) * (1 + z * sigmoid(-z)); },
        [](Long z) { return dsigmoid(z) * (2 - z * std::tanh(z / 2)); }}},
      {"sin",
       {[](Long z) { return std::sin(z); }, [](Long z) { return std::cos(z); },
        [](Long z) { return -std::sin(z); }}},
      {"quadratic",
       {[](Long z) { return z * z / 2; }, [](Long z) { return z; }, [](Long) { return Long{1}; }}},
  };
  for (const auto& [name, reference] : references) {
    const auto& a = zeroloss::activation(name);
    all[name + " 0"] = {a.phi, reference[0]};
    all[name + " 1"] = {a.dphi, reference[1]};
    all[name + " 2"] = {a.d2phi, reference[2]};
  }
  return all;
}

const Function& find(const char* name) {
  static const auto all = functions();
  return all.at(name);
}

double ulp(double x) {
  x = std::max(std::abs(x), std::numeric_limits<double>::min());
  return std::ldexp(1, std::ilogb(x) - 52);
}

std::uint64_t random_bits(std::uint64_t& state) {  // splitmix64
  std::uint64_t x = state += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace
}  // namespace check

extern "C" {

double evaluate(const char* name, double x) { return check::find(name).value(x); }

// The worst of `tries` random points in each of `strata` equal parts of [a, b], against the sum of
// relative |value|, absolute and ulps ulp(value). log: equal in the bits of x (0 < a < b), which gives every
// binade its share, then shifted.
void worst(const char* name, double a, double b, int log, double sign, double shift, int strata, int tries,
           double relative, double absolute, double ulps, double* points) {
  const auto& f = check::find(name);
  std::uint64_t state = 1;
  for (int s = 0; s < strata; ++s) {
    double most = -1;
    points[s] = shift + sign * a;
    for (int t = 0; t < tries; ++t) {
      const double part = (s + static_cast<double>(check::random_bits(state) >> 11) * 0x1p-53) / strata;
      double x = a + part * (b - a);
      if (log) {
        const auto low = std::bit_cast<std::uint64_t>(a), high = std::bit_cast<std::uint64_t>(b);
        x = std::bit_cast<double>(low + static_cast<std::uint64_t>(part * static_cast<double>(high - low)));
      }
      x = shift + sign * x;
      const long double exact = f.reference(x);
      const auto size = static_cast<double>(std::abs(exact));
      const double score = static_cast<double>(std::abs(f.value(x) - exact)) /
                           (relative * size + absolute + ulps * check::ulp(size));
      if (score > most) {
        most = score;
        points[s] = x;
      }
    }
  }
}

// The n-th instruction set for Highway's functions; null beyond the last.
const char* use_target(int n) {
  hwy::SetSupportedTargetsForTest(0);
  const auto targets = hwy::SupportedAndGeneratedTargets();
  if (n >= static_cast<int>(targets.size())) return nullptr;
  hwy::SetSupportedTargetsForTest(targets[n]);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return hwy::TargetName(targets[n]);
}
}
#endif
