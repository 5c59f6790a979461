#include "graph/trial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "graph/evaluate.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal::graph {
namespace {

// Sizes that an open dimension may have, the largest first.
std::vector<Index> possible_sizes(const OnnxGraph& graph) {
  std::set<Index> sizes{1};
  for (const auto& [name, numbers] : graph.numbers)
    if (is_real(numbers.type)) sizes.insert(numbers.shape.begin(), numbers.shape.end());
  sizes.erase(0);
  return {sizes.rbegin(), sizes.rend()};
}

}  // namespace

std::string sizes_of_sample(const OnnxInput& input) {
  if (input.shape.size() < 2) return "nothing";
  std::vector<std::string> text;
  for (auto size = input.shape.begin() + 1; size != input.shape.end(); ++size)
    text.push_back(*size == 0 ? "?" : fmt::format("{}", *size));
  return fmt::format("{}", fmt::join(text, " x "));
}

Shape sizes_asked(const std::string& text, const OnnxInput& input) {
  Shape shape;
  Index all = 1;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto size = parsed_integer<Index>(rest.substr(0, comma));
    if (!size || *size < 1 || comma + 1 == rest.size() || __builtin_mul_overflow(all, *size, &all))
      throw std::invalid_argument(fmt::format(
          "`shape` must be sizes of at least 1 with commas between them; got '{}', and the file says {}",
          excerpt(text), sizes_of_sample(input)));
    shape.push_back(*size);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return shape;
}

Trial trial_of(const OnnxGraph& graph, const std::string& name, const std::string& asked, Memory& memory) {
  Shape sizes{1};
  const Shape given = sizes_asked(asked, graph.inputs.front()), &declared = graph.inputs.front().shape;
  if (!given.empty())
    sizes.insert(sizes.end(), given.begin(), given.end());
  else if (declared.size() < 2)
    sizes.push_back(0);
  else
    sizes.insert(sizes.end(), declared.begin() + 1, declared.end());
  if (declared.size() == 1 && given.empty()) sizes = declared;  // of a sample alone
  const auto open = std::ranges::find(sizes, Index{0});
  if (open == sizes.end()) return values_at_zero(graph, name, sizes, memory);
  if (std::ranges::count(sizes, Index{0}) > 1)
    return {sizes, {}, "the file leaves sizes of its input open: say `shape`, such as `shape=3,32,32`"};
  Trial best;
  for (const Index size : possible_sizes(graph)) {
    *open = size;
    Trial trial = values_at_zero(graph, name, sizes, memory);
    if (trial.problem.empty()) return trial;
    if (best.sizes.empty() || trial.values.size() > best.values.size()) best = std::move(trial);
  }
  return best;
}

}  // namespace zeroloss::internal::graph
