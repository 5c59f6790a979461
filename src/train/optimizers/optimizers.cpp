#include "train/optimizers/optimizers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace zeroloss {
namespace internal::methods {

extern const Method gd, sgd, momentum, gauss_newton, flow, output_layer, kernel;
constexpr const Method* all[] = {&gd, &sgd, &momentum, &gauss_newton, &flow, &output_layer, &kernel};

}  // namespace internal::methods

using namespace internal;
namespace {

// "gd, sgd (stochastic) or flow": every name with its note.
std::string described() {
  const std::vector<OptimizerFacts> all = optimizers();
  std::string text;
  for (std::size_t k = 0; k < all.size(); ++k) {
    text += fmt::format("{}{}", k == 0 ? "" : k + 1 < all.size() ? ", " : " or ", all[k].name);
    if (!all[k].note.empty()) text += fmt::format(" ({})", all[k].note);
  }
  return text;
}

// "1e-6, for gauss_newton 1e-9"
std::string tolerances() {
  const auto power = [](double x) { return fmt::format("1e{:.0f}", std::log10(x)); };  // 1e-6, not 1e-06
  const double most = OptimizerFacts().tolerance;
  std::string text = power(most);
  for (const OptimizerFacts& known : optimizers())
    if (known.tolerance != most) text += fmt::format(", for {} {}", known.name, power(known.tolerance));
  return text;
}

std::map<std::string, std::string> helps() {
  const std::string step = optimizers_with(&OptimizerFacts::step);
  return {
      {"optimizer", described()},
      {"step", fmt::format("Of {}: a number, auto (1.5/||J||^2), or theorem (what the paper allows)", step)},
      {"step axis", fmt::format("Of {}: numbers, auto, theorem [auto]", step)},
      {"batch", "Points in a step of " + optimizers_with(&OptimizerFacts::batch)},
      {"precision", fmt::format("float64, or float32 ({} only)", optimizers_with(&OptimizerFacts::float32))},
      {"tolerance", fmt::format("Relative misfit to reach; 0 = {}, for float32 1e-4", tolerances())},
      {"tolerance axis",
       fmt::format("Relative misfit that is success [1e-4; with float64 {}]", tolerances())}};
}

}  // namespace

const Method& internal::method(std::string_view name) {
  const auto* found = std::find_if(std::begin(methods::all), std::end(methods::all),
                                   [&](const Method* m) { return m->facts.name == name; });
  if (found == std::end(methods::all)) throw std::out_of_range(fmt::format("no optimizer {}", name));
  return **found;
}

std::vector<OptimizerFacts> optimizers() {
  std::vector<OptimizerFacts> facts;
  for (const auto* method : methods::all) facts.push_back(method->facts);
  return facts;
}

OptimizerFacts optimizer(std::string_view name) { return internal::method(name).facts; }

std::string optimizers_with(bool OptimizerFacts::*property) {
  std::vector<OptimizerFacts> with = optimizers();
  std::erase_if(with, [&](const OptimizerFacts& facts) { return !(facts.*property); });
  std::string text;
  for (std::size_t k = 0; k < with.size(); ++k)
    text += fmt::format("{}{}", k == 0 ? "" : k + 1 < with.size() ? ", " : " and ", with[k].name);
  return text;
}

const char* optimizer_choices() {
  static const std::string names = [] {
    std::string text;
    for (const OptimizerFacts& known : optimizers())
      text += (text.empty() ? "" : "|") + std::string(known.name);
    return text;
  }();
  return names.c_str();
}

const char* optimizer_help(const std::string& field) {
  static const std::map<std::string, std::string> texts = helps();
  return texts.at(field).c_str();
}

}  // namespace zeroloss
