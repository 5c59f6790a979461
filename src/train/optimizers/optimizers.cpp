#include "train/optimizers/optimizers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace zeroloss {
namespace internal::methods {

extern const Method gd, sgd, momentum, gauss_newton, flow, output_layer;
constexpr const Method* all[] = {&gd, &sgd, &momentum, &gauss_newton, &flow, &output_layer};

}  // namespace internal::methods

using namespace internal;

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

}  // namespace zeroloss
