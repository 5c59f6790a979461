#include "zeroloss/deep/output_classes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
namespace {

using ClassNames = std::vector<std::string>;

// "0..9" alone is a list of numbers; any other names are themselves.
ClassNames spelled_out(const ClassNames& asked) {
  const std::size_t dots = asked.size() == 1 ? asked.front().find("..") : std::string::npos;
  if (dots == std::string::npos) return asked;
  const std::string_view range = asked.front();
  const auto first = parsed_integer<Index>(range.substr(0, dots)),
             last = parsed_integer<Index>(range.substr(dots + 2));
  constexpr Index kMost = 1'000'000;
  if (!first || !last || *first < 0 || *last < *first || *last - *first >= kMost) return asked;
  ClassNames names;
  for (Index k = *first; k <= *last; ++k) names.push_back(fmt::format("{}", k));
  return names;
}

void check_names(const ClassNames& names, Index count, Index outputs) {
  if (std::ssize(names) != count)
    throw std::invalid_argument(fmt::format(
        "`class_names` names {} for {}: name {}", zeroloss::count(std::ssize(names), "class", "classes"),
        zeroloss::count(outputs, "output", "outputs"),
        outputs == 1 ? "the class below 0, then that above" : "one for each, in their order"));
  std::set<std::string> distinct;
  for (const std::string& name : names)
    if (!distinct.insert(name).second)
      throw std::invalid_argument(fmt::format("`class_names` names '{}' twice", excerpt(name)));
}

// Whose order it is, and what comes of it.
std::string remark_of(const ClassNames& names, Index outputs, double threshold, const std::string& why) {
  constexpr std::size_t kShown = 12;
  std::string order;
  if (outputs == 1)
    order = fmt::format("an output below {0} is {1}, above {0} {2}", threshold, excerpt(names[0]),
                        excerpt(names[1]));
  else if (names.size() > kShown)
    order = fmt::format("output 0 is {}, .., output {} is {}", excerpt(names.front()), names.size() - 1,
                        excerpt(names.back()));
  else
    order = fmt::format("outputs 0 to {} are {}", names.size() - 1, excerpt(names));
  return fmt::format("{}: {}, since neither the network nor `class_names` names outputs", order, why);
}

// Whether the classes are some of the numbers 0 to count - 1.
bool are_numbers_of_outputs(const ClassNames& whole, Index count) {
  return std::ranges::all_of(whole, [&](const std::string& name) {
    const auto value = parsed_integer<Index>(name);
    return value && *value >= 0 && *value < count && name == fmt::format("{}", *value);
  });
}

[[noreturn]] void ask(const ClassNames& whole, Index outputs, Index count, const Dataset& data) {
  throw DataError(
      fmt::format("{}: {} ({}), but the network has {} and does not name them: say which class {}, "
                  "`class_names={}`{}",
                  data.name, zeroloss::count(std::ssize(whole), "class", "classes"), excerpt(whole),
                  zeroloss::count(outputs, "output", "outputs"),
                  outputs == 1 ? "is below 0 and which above" : "each stands for, in their order",
                  are_numbers_of_outputs(whole, count) ? fmt::format("0..{}", count - 1) : "A,B,..",
                  outputs == 1 ? "; or, if the targets are numbers, `task=regression`" : ""));
}

}  // namespace

NetworkOutputs outputs_of(const DeepNetwork& network) {
  return {network.outputs(), network.class_names, network.behind, network.single};
}

bool ends_with_sigmoid(const std::string& behind) {
  return behind.find("Sigmoid") < behind.size() || behind.find("sigmoid") < behind.size();
}

OutputClasses output_classes(const NetworkOutputs& network, const Dataset& data, const ClassNames& asked) {
  const Index outputs = network.count, count = outputs == 1 ? 2 : outputs;
  if (!asked.empty()) {
    const ClassNames names = spelled_out(asked);
    check_names(names, count, outputs);
    if (!network.class_names.empty() && names != network.class_names &&
        network.class_names !=
            spelled_out({fmt::format("0..{}", count - 1)}))  // numbers may be names of words
      throw std::invalid_argument(fmt::format("the network names its classes: {}; leave out `class_names`",
                                              excerpt(network.class_names)));
    return {names, {}};
  }
  if (!network.class_names.empty()) {
    if (std::ssize(network.class_names) != count)
      throw DataError(fmt::format("{}: the network names {}, but has {}", data.name,
                                  zeroloss::count(std::ssize(network.class_names), "class", "classes"),
                                  zeroloss::count(outputs, "output", "outputs")));
    return {network.class_names, {}};
  }
  // Points made by hand are all there are.
  const ClassNames& whole = data.source_classes.empty() ? data.class_names : data.source_classes;
  if (std::ssize(whole) == count)
    return {whole, remark_of(whole, outputs, network.threshold, "the order of the classes of " + data.name)};
  // Without a 0 among them they may count from 1.
  if (std::ssize(whole) > count || !are_numbers_of_outputs(whole, count) ||
      std::ranges::count(whole, "0") == 0)
    ask(whole, outputs, count, data);
  const ClassNames numbers = spelled_out({fmt::format("0..{}", count - 1)});
  return {numbers,
          remark_of(numbers, outputs, network.threshold,
                    fmt::format("the labels of {} ({}) are such numbers", data.name, excerpt(whole)))};
}

std::string hint_of_names(const ClassNames& names) {
  return names == spelled_out({fmt::format("0..{}", names.size() - 1)})
             ? "; say what these are called, in their order, `class_names=A,B,..`"
             : "";
}

Matrix targets_of(const NetworkOutputs& network, const Dataset& data) {
  const Index n = data.n(), K = network.count;
  if (data.task == Task::none) throw DataError(data.name + ": there are no targets to prove anything about");
  if (data.task == Task::regression) {
    if (!network.behind.empty())
      throw DataError(
          fmt::format("{}: targets are numbers, and the network was read without what makes its outputs: {}. "
                      "Without it the outputs say classes alone",
                      data.name, network.behind));
    const Index r = std::max<Index>(1, data.targets.cols());
    if (K != r)
      throw DataError(fmt::format("{}: {} a sample, but the network has {}", data.name,
                                  r == 1 ? "one number" : fmt::format("{} numbers", r),
                                  count(K, "output", "outputs")));
    return r == 1 ? Matrix(data.y) : data.targets;
  }
  const ClassNames names = output_classes(network, data).names;
  std::vector<Index> output(data.class_names.size());
  Matrix Y = Matrix::Constant(n, K, network.threshold - 1);
  for (std::size_t k = 0; k < output.size(); ++k)
    output[k] = std::find(names.begin(), names.end(), data.class_names[k]) - names.begin();
  for (Index i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(data.y(i));
    const Index own = output[k];
    if (own == std::ssize(names))
      throw DataError(fmt::format("{}: class '{}' is none of the network's: {}{}", data.name,
                                  excerpt(data.class_names[k]), excerpt(names), hint_of_names(names)));
    if (K > 1)
      Y(i, own) = 1;
    else if (own == 1)
      Y(i, 0) = network.threshold + 1;
  }
  return Y;
}

}  // namespace zeroloss
