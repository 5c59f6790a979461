#include "zeroloss/audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"
#include "predictor_options.hpp"
#include "zeroloss/audit/decisions.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/present/audit.hpp"
#include "zeroloss/sources/arrays.hpp"

namespace zeroloss::app {
namespace {

struct AuditArguments {
  std::string source, out, test, checked, accepted;
  std::string embedding, test_embedding, probabilities, test_probabilities;  // files
  ReadOptions read;
  AuditOptions audit;
  std::vector<std::string> targets, require;
  bool json = false;
};

// The x of "noise<=x": the estimated fraction of wrong labels.
std::optional<double> most_noise(const std::string& property) {
  constexpr std::string_view kBound = "noise<=";
  if (!property.starts_with(kBound)) return {};
  const auto value = parsed_number(property.substr(kBound.size()));
  return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
}

// The N of "issues<=N": labels that look wrong, "no-issues" being 0 of them.
std::optional<Index> most_issues(const std::string& property) {
  if (property == "no-issues") return 0;
  constexpr std::string_view kBound = "issues<=";
  return property.starts_with(kBound) ? parsed_integer<Index>(property.substr(kBound.size())) : std::nullopt;
}

std::string check_audit_property(const std::string& property) {
  return most_issues(property).value_or(-1) >= 0 || most_noise(property)
             ? ""
             : fmt::format(
                   "'{}' is not a property of audit; take no-issues, issues<=N or noise<=x, x in [0, 1]",
                   property);
}

// Labels that are more likely wrong than right.
std::vector<LabelIssue> wrong_of(const AuditResult& result) {
  std::vector<LabelIssue> wrong;
  std::ranges::copy_if(result.issues, std::back_inserter(wrong),
                       [](const LabelIssue& issue) { return issue.score < 0.5; });
  return wrong;
}

bool holds(const std::string& property, const AuditResult& result) {
  if (const auto most = most_issues(property))
    return std::ssize(wrong_of(result)) + result.checked_wrong <= *most;
  const auto most = most_noise(property);
  return most && result.noise_rate.value <= *most;
}

// Which ones they are, where a property about their number does not hold: a line each for whoever reads a
// log.
void tell_wrong(const std::vector<std::string>& properties, const Dataset& data, const AuditResult& result) {
  constexpr std::size_t kTold = 20;
  if (std::ranges::none_of(properties, [&](const std::string& property) {
        return most_issues(property) && !holds(property, result);
      }))
    return;
  const std::vector<LabelIssue> wrong = wrong_of(result);
  for (std::size_t k = 0; k < std::min(kTold, wrong.size()); ++k)
    tell(fmt::format("zeroloss: {}: sample {} looks wrong: {} is predicted\n", data.name,
                     describe(wrong[k].sample), wrong[k].predicted));
  if (wrong.size() > kTold) tell(fmt::format("zeroloss: {} more samples look wrong\n", wrong.size() - kTold));
}

// What somebody's model says of the points, from files.
void add_known(Dataset& data, const std::string& embedding, const std::string& probabilities) {
  if (!embedding.empty()) data.embedding = rows_of_records(data, read_array(embedding), embedding);
  if (!probabilities.empty())
    data.probabilities = rows_of_records(data, read_array(probabilities), probabilities);
}

// Several columns as targets of the others.
struct Several {
  Dataset data;  // with one of the targets
  std::vector<Target> targets;
};

Several read_several(const AuditArguments& options, const std::vector<ReadOptions>& each) {
  Several several;
  for (const ReadOptions& read : each) {
    Dataset data = read_dataset(options.source, read);
    require_targets(data, "audit");
    several.targets.push_back({read.target, data.task, data.y, data.class_names, data.records});
    if (several.targets.size() == 1) several.data = std::move(data);
  }
  // At the records that have all of them.
  std::vector<std::vector<Index>> records;
  for (const Target& target : several.targets) records.push_back(target.records);
  const CommonRecords common = common_records(several.data.name, records, options.read);
  for (Target& target : several.targets) {
    target.y = Vector(target.y(places_of(common.records, target.records)));
    target.records = common.records;
  }
  keep_records(several.data, common);
  add_known(several.data, options.embedding, "");
  return several;
}

void run_targets(const AuditArguments& options, AuditOptions settings, Session& session) {
  for (const auto& [name, given] :
       {std::pair{"test", options.test}, std::pair{"checked", options.checked},
        std::pair{"accepted", options.accepted}, std::pair{"probabilities", options.probabilities},
        std::pair{"test_embedding", options.test_embedding},
        std::pair{"test_probabilities", options.test_probabilities}})
    if (!given.empty())
      throw std::invalid_argument(fmt::format("audit: `targets` and `{}` exclude each other", name));
  const std::vector<ReadOptions> each = reading_each(options.source, options.targets, options.read);
  std::set<std::string> files;  // of the targets, in the run folder
  std::vector<std::unique_ptr<RunFolder>> folders;
  for (const std::string& name : options.targets) {
    std::string file = name;
    std::ranges::replace(file, '/', '_');
    if (file.empty() || file == "." || file == "..")
      throw std::invalid_argument(fmt::format("`targets` has '{}', which is no column", name));
    if (!files.insert(file).second)
      throw std::invalid_argument(fmt::format("two of `targets` would be written to one folder, '{}'", file));
    if (options.out.empty()) continue;
    std::filesystem::create_directories(options.out);
    folders.push_back(std::make_unique<RunFolder>(std::filesystem::path(options.out) / file, false,
                                                  RunFolder::Writers::one, RunFolder::Rest::removed));
  }
  auto progress = session.progress();
  progress.stage("reading " + options.source);
  Several several = read_several(options, each);
  const std::vector<AuditResult> results =
      audit_each(several.data, several.targets, settings, progress, session.group);
  std::string text, json;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Dataset& data = several.data;
    give_target(several.data, several.targets[k]);
    const std::string& name = several.targets[k].name;
    if (!folders.empty())
      write_audit(*folders[k], data, nullptr, options.read, settings, results[k], session.arguments, {});
    json += (k == 0 ? "" : ",\n") + audit_json(data, nullptr, settings, results[k]);
    text += (k == 0 ? "" : "\n") + fmt::format("target {}: ", name) +
            audit_text(data, nullptr, settings, results[k]);
  }
  answer(options.json ? "{\n\"targets\": [\n" + json + "\n]\n}\n" : in_flags(text));
  require(options.require, session, [&](const std::string& property) {
    return std::ranges::all_of(results, [&](const AuditResult& result) { return holds(property, result); });
  });
  for (std::size_t k = 0; k < results.size(); ++k) {
    give_target(several.data, several.targets[k]);
    tell_wrong(options.require, several.data, results[k]);
  }
}

void run_audit(const AuditArguments& options, Session& session) {
  AuditOptions settings = options.audit;
  settings.predictor = with_scale(settings.predictor, options.read);
  if (settings.draw > 0 && options.out.empty())
    throw std::invalid_argument("audit: `draw` writes drawn.csv into a run folder: give one with `out`");
  if (!options.targets.empty()) return run_targets(options, settings, session);
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty())
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
  progress.stage("reading " + options.source);
  Dataset data = read_dataset(options.source, options.read);
  std::optional<Dataset> test;
  if (!options.test.empty()) test = read_test(options.test, data, options.read, progress);
  add_known(data, options.embedding, options.probabilities);
  if (test) add_known(*test, options.test_embedding, options.test_probabilities);
  if (!test && !(options.test_embedding + options.test_probabilities).empty())
    throw std::invalid_argument("audit: `test_embedding` and `test_probabilities` go with `test`");
  if (!options.checked.empty()) settings.checked = read_checked(options.checked, test ? *test : data);
  if (!options.accepted.empty()) settings.accepted = read_accepted(options.accepted, test ? *test : data);
  AuditResult result = test ? audit(data, *test, settings, progress, session.group)
                            : audit(data, settings, progress, session.group);
  result.seconds = session.seconds();

  const Dataset* asked = test ? &*test : nullptr;
  const Next next = after_audit(session.arguments, result, options.out);
  if (folder) write_audit(*folder, data, asked, options.read, settings, result, session.arguments, next);
  answer(options.json ? audit_json(data, asked, settings, result, next) + "\n"
                      : in_flags(audit_text(data, asked, settings, result)) + next_text(next));
  require(options.require, session, [&](const std::string& property) { return holds(property, result); });
  tell_wrong(options.require, test ? *test : data, result);
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
  add_targets(command, o.targets,
              "csv: columns that are targets, each judged by all but these, with one kernel [none]");
  command
      .option("--require", o.require,
              "Exit with 1 unless this holds: issues<=N (at most so many labels are more likely wrong than "
              "right, "
              "or wrong by --checked; they are named), no-issues (none is), or noise<=x for the estimated "
              "fraction of wrong labels; of each of --targets [none]")
      .check(check_audit_property, "PROPERTY")
      .repeated();
  command.group("Other models")
      .option("--embedding", o.embedding,
              "Features of the samples by any model, npy, a row for each record: they count beside the given "
              "ones, in their place, or not at all, by leave-one-out [none]")
      .type_name("FILE");
  command.group("Other models")
      .option("--probabilities", o.probabilities,
              "Probabilities of the classes by any model that was not shown the sample, npy, a row for each "
              "record and a column for each class [none]")
      .type_name("FILE");
  command.group("Other models")
      .option("--test-embedding", o.test_embedding, "The same of --test [none]")
      .type_name("FILE");
  command.group("Other models")
      .option("--test-probabilities", o.test_probabilities, "The same of --test [none]")
      .type_name("FILE");
  command.group("Checked samples")
      .option("--checked", o.checked,
              "What you found of the samples that an audit drew with --draw: drawn.csv, filled in by hand or "
              "by the page [none]")
      .type_name("FILE");
  command.group("Checked samples")
      .option("--accepted", o.accepted,
              "Decisions on labels that an audit named, as the page saves them: those that were kept are not "
              "named again [none]")
      .type_name("FILE");
  command.option("--out", o.out, "Write a run folder: scores, issues, pictures, manifest [none]");
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss audit digits", "zeroloss audit table.csv --target species --out runs/audit",
                    "zeroloss audit train.csv --target price --test new.csv"});
}

}  // namespace zeroloss::app
