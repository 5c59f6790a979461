#include "present/common.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>

#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::internal {
namespace {

std::string now() {
  const std::time_t time = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

}  // namespace

void Facts::operator()(std::string_view name, std::string_view value) {
  text_ += fmt::format("{:<{}}{}\n", name, width_, value);
}

Json answer_json(const std::string& data, const std::string& digest, const std::string& labels) {
  return {{"data", data}, {"digest", told(digest)}, {"labels", told(labels)}};
}

Json answer_json(const Dataset& data, const Json& options) {
  Json json = answer_json(data.name, data.digest, data.task == Task::none ? "" : data.label_treatment);
  json["options"] = options;
  return json;
}

template <>
Json told(const SamplePair& p) {
  return {{"samples", {p.first.record, p.second.record}},
          {"labels", {told(p.first.label), told(p.second.label)}},
          {"distance", p.distance},
          {"antipodal", p.antipodal}};
}

template <>
Json told(const Next& next) {
  if (next.why.empty()) return nullptr;
  return {{"why", next.why}, {"command", told(shell_command(next.command))}};
}

std::string preparation(const Dataset& data, bool normalize, bool center) {
  std::string text;
  const Standardization& s = data.standardization;
  if (!s.empty() && (normalize || !s.automatic)) {
    if (s.how != "no")
      text += s.how == "yes" ? "; columns standardised" : fmt::format("; columns standardised ({})", s.how);
    if (s.bias != 0) text += fmt::format("; constant {:.3g} appended", s.bias);
    center = center && s.origin.empty();
  }
  if (normalize) text += center ? "; centred, rows of unit length" : "; rows of unit length";
  return text;
}

std::string heading(const Dataset& data, const std::string& done) {
  std::string text = fmt::format("{}: {}, {}", data.name, count(data.n(), "point", "points"),
                                 count(data.d(), "feature", "features"));
  if (data.task == Task::none) text += ", no labels (of a table, target names them)";
  if (data.task == Task::regression)
    text += fmt::format(", {} {}", data.targets.cols() > 1 ? "targets" : "target", data.target_name);
  if (data.task == Task::classification) {
    text += ", " + count(data.classes(), "class", "classes");
    if (data.classes() <= 12) text += fmt::format(" ({})", fmt::join(data.class_names, ", "));
  }
  if (data.label_treatment != "given") text += fmt::format("; labels: {}", data.label_treatment);
  text += done;
  for (const std::string& remark : data.shown_remarks()) text += "\n  " + remark;
  return text;
}

std::string manifest(const char* kind, const std::vector<std::string>& arguments, const Json& options,
                     const Dataset& data, const ReadOptions& read, double seconds) {
  Json described{{"name", data.name}, {"digest", told(data.digest)}};
  tell(described, read);
  if (!data.standardization.empty()) described["standardization"] = told(data.standardization);
  if (!data.encoding.empty()) described["columns"] = Json::parse(encoding_text(data.encoding));
  if (!data.remarks.empty()) described["remarks"] = data.remarks;
  return manifest(kind, arguments, options, described, seconds);
}

std::string manifest(const char* kind, const std::vector<std::string>& arguments, const Json& options,
                     const Json& data, double seconds) {
  const Json json{{"command", arguments}, {"kind", kind},       {"version", ZEROLOSS_VERSION},
                  {"options", options},   {"data", data},       {"machine", Json::parse(machine_json())},
                  {"finished", now()},    {"seconds", seconds}, {"peak_bytes", peak_memory_bytes()}};
  return json.dump(1) + "\n";
}

}  // namespace zeroloss::internal
