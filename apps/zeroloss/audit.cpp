#include "zeroloss/audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"
#include "predictor_options.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/present/audit.hpp"

namespace zeroloss::app {
namespace {

struct AuditArguments {
  std::string source, out, test;
  ReadOptions read;
  AuditOptions audit;
  std::vector<std::string> require;
  bool json = false;
};

// The x of "noise<=x": the estimated fraction of wrong labels.
std::optional<double> most_noise(const std::string& property) {
  constexpr std::string_view kBound = "noise<=";
  if (!property.starts_with(kBound)) return {};
  const auto value = parsed_number(property.substr(kBound.size()));
  return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
}

std::string check_audit_property(const std::string& property) {
  return property == "no-issues" || most_noise(property)
             ? ""
             : fmt::format("'{}' is not a property of audit; take no-issues or noise<=x, x in [0, 1]",
                           property);
}

bool holds(const std::string& property, const AuditResult& result) {
  if (property == "no-issues")
    return std::ranges::none_of(result.issues, [](const LabelIssue& issue) { return issue.score < 0.5; });
  const auto most = most_noise(property);
  return most && result.noise_rate.value <= *most;
}

void run_audit(const AuditArguments& options, Session& session) {
  AuditOptions settings = options.audit;
  settings.predictor = with_scale(settings.predictor, options.read);
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty())
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
  progress.stage("reading " + options.source);
  const Dataset data = read_dataset(options.source, options.read);
  std::optional<Dataset> test;
  if (!options.test.empty()) test = read_test(options.test, data, options.read, progress);
  AuditResult result = test ? audit(data, *test, settings, progress, session.group)
                            : audit(data, settings, progress, session.group);
  result.seconds = session.seconds();

  const Dataset* asked = test ? &*test : nullptr;
  const Next next = after_audit(session.arguments, result, options.out);
  if (folder) write_audit(*folder, data, asked, options.read, settings, result, session.arguments, next);
  answer(options.json ? audit_json(data, asked, settings, result, next) + "\n"
                      : in_flags(audit_text(data, asked, settings, result)) + next_text(next));
  require(options.require, session, [&](const std::string& property) { return holds(property, result); });
}

}  // namespace

void add_audit(Command& command, Session& session) {
  command.about("Which labels are wrong, how many, and which samples say so");
  auto& o = command.runs(run_audit, session);
  o.read.cache = session.cache;
  add_source(command, o.source);
  add_read_options(command, o.read);
  add_fields(command, o.audit, any_field, with_auto);
  command.group("Data")
      .option("--test", o.test, "Audit the labels of this data instead, by a predictor of DATA [none]")
      .type_name("DATA");
  command
      .option("--require", o.require,
              "Exit with 1 unless this holds: no-issues (no label is more likely wrong than right), or "
              "noise<=x for the estimated fraction of wrong "
              "labels [none]")
      .check(check_audit_property, "PROPERTY")
      .repeated();
  command.option("--out", o.out, "Write a run folder: scores, issues, pictures, manifest [none]");
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss audit digits", "zeroloss audit table.csv --target species --out runs/audit",
                    "zeroloss audit train.csv --target price --test new.csv"});
}

}  // namespace zeroloss::app
