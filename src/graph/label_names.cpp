#include "graph/label_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

LabelNames names_of(const std::vector<std::int64_t>& values) {
  LabelNames names;
  for (const std::int64_t value : values) names.push_back(fmt::format("{}", value));
  return names;
}
LabelNames names_of(const std::vector<double>& values, bool single) {
  LabelNames names;
  for (const double value : values)
    names.push_back(single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value));
  return names;
}
LabelNames names_of(const std::vector<std::string>& values) { return values; }

// The first of these attributes that is there, as names.
std::optional<LabelNames> listed_names(const OnnxNode& node, const std::string& of) {
  for (const char* integers : {"_int64s", "_ints"})
    if (const auto* list = node.find<std::vector<std::int64_t>>(of + integers)) return names_of(*list);
  if (const auto* list = node.find<std::vector<std::string>>(of + "_strings")) return names_of(*list);
  if (const auto* list = node.find<std::vector<double>>(of + "_floats")) return names_of(*list, true);
  return {};
}

// A list of names in the file, of which the label is the place.
LabelNames picked_names(const OnnxNode& node, const OnnxGraph& graph, const LabelNames& labels,
                        std::string& problem) {
  const std::string list = node.inputs.size() == 2 ? node.inputs.front() : "";
  LabelNames names;
  if (const auto text = graph.texts.find(list); text != graph.texts.end())
    names = text->second;
  else if (const auto numbers = graph.numbers.find(list);
           numbers != graph.numbers.end() && !is_half(numbers->second.type))
    names = is_integer(numbers->second.type)
                ? names_of(numbers->second.integers)
                : names_of(numbers->second.values, numbers->second.type == OnnxType::float32);
  else
    problem = "what it takes names from is no list in the file";
  if (node.integer("axis", 0) != 0) problem = "it takes names along another axis than 0";
  LabelNames made;
  for (const std::string& label : labels) {
    if (!problem.empty()) return {};
    const auto place = parsed_integer<std::int64_t>(label);
    if (!place || *place < 0 || *place >= std::ssize(names))
      problem = fmt::format("it has {} names, and none for {}", names.size(), excerpt(label));
    else
      made.push_back(names[static_cast<std::size_t>(*place)]);
  }
  return made;
}

LabelNames encoded(const OnnxNode& node, const LabelNames& labels, std::string& problem) {
  std::optional<LabelNames> keys = listed_names(node, "keys"), values = listed_names(node, "values");
  if (const auto* classes = node.find<std::vector<std::string>>("classes_strings")) {
    values = *classes;
    keys = numbered(std::ssize(*classes));
  }
  LabelNames made;
  if (!keys || !values || keys->size() != values->size()) {
    problem = "it does not say a name for each key";
    return made;
  }
  for (const std::string& label : labels) {
    const auto key = std::ranges::find(*keys, label);
    if (key != keys->end())
      made.push_back((*values)[static_cast<std::size_t>(key - keys->begin())]);
    else
      problem = fmt::format("it has no name for {}", excerpt(label));
  }
  return made;
}

LabelNames cast_names(const OnnxNode& node, const LabelNames& labels, std::string& problem) {
  const auto to = static_cast<OnnxType>(node.integer("to", 0));
  LabelNames made;
  for (const std::string& label : labels) {
    const auto value = parsed_integer<std::int64_t>(label);
    const auto within = [&](int bits) { return value && -(1LL << bits) <= *value && *value <= 1LL << bits; };
    if (to == OnnxType::text || (value && to == OnnxType::int64) || (to == OnnxType::float64 && within(53)) ||
        (value && to == OnnxType::int32 && static_cast<std::int32_t>(*value) == *value) ||
        (to == OnnxType::float32 && within(24)))
      made.push_back(label);
    else if (value && to == OnnxType::boolean)
      made.emplace_back(*value == 0 ? "0" : "1");
    else
      problem = fmt::format("the label {} is not known to be the same as {}", excerpt(label), name_of(to));
  }
  return made;
}

}  // namespace

LabelNames numbered(Index classes) {
  LabelNames names;
  for (Index k = 0; k < classes; ++k) names.push_back(fmt::format("{}", k));
  return names;
}

LabelNames renamed(const OnnxNode& node, const OnnxGraph& graph, const LabelNames& names,
                   std::string& problem) {
  static const std::set<std::string> shapes{"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  LabelNames made;
  if (shapes.contains(node.op))
    made = names;
  else if (node.op == "Gather" || node.op == "ArrayFeatureExtractor")
    made = picked_names(node, graph, names, problem);
  else if (node.op == "LabelEncoder")
    made = encoded(node, names, problem);
  else if (node.op == "Cast")
    made = cast_names(node, names, problem);
  else
    problem = "it is no name of a label";
  if (problem.empty() && std::set<std::string>(made.begin(), made.end()).size() < made.size())
    problem = "it gives two outputs one name";
  return made;
}

LabelNames zipped(const OnnxNode& node, Index classes, std::string& problem) {
  const std::optional<LabelNames> names = listed_names(node, "classlabels");
  if (!names || std::ssize(*names) != classes)
    problem = fmt::format("it has {} names for {} classes", names ? names->size() : 0, classes);
  return names.value_or(LabelNames{});
}

}  // namespace zeroloss::internal
