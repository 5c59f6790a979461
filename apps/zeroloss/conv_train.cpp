#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <optional>

#include "command.hpp"
#include "conv_options.hpp"
#include "field_options.hpp"
#include "finished.hpp"
#include "signals.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/present/conv.hpp"

namespace zeroloss::app {
namespace {

struct ConvTrainArguments {
  std::string source, out, recipe = "paper";
  ImageOptions images;
  Index n_test = 0;
  bool no_test = false;
  ConvOptions conv;
  std::vector<std::string> require;
  bool json = false;
  /// Each sets an option that nobody gave to what a recipe says.
  std::vector<std::function<void(const ConvOptions& recipe)>> defaults;
};

/// --recipe, ahead of the parsing, so that --help and --print-config show what it sets.
std::string asked_recipe(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--recipe" && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with("--recipe=")) return arguments[i].substr(9);
  }
  return "paper";
}

ImageSet test_images(const ConvTrainArguments& options, Progress& progress) {
  ImageOptions test = with_threads(options.images, options.conv.device);
  test.split = "test";
  test.labels = "given";
  test.n = options.n_test;
  return read_images(options.source, test, progress);
}

void check_conv_train(const std::vector<std::string>& properties, const std::string& status,
                      Session& session) {
  require(properties, session, [&](const std::string& property) { return status == property; });
}

void run_conv_train(ConvTrainArguments& options, Session& session) {
  const ConvOptions recipe = conv_recipe(options.recipe);
  for (const auto& set : options.defaults) set(recipe);
  ConvOptions settings = options.conv;
  settings.seed = options.images.seed;
  settings.process = process_of_environment();
  const bool first = settings.process.rank == 0;
  if (!first) session.quiet = true;
  if (settings.resume && options.out.empty())
    throw std::invalid_argument("--resume needs --out: the run to go on with");
  if (settings.resume && !first && finished_run(options.out)) return;
  if (settings.resume && first)
    if (const auto status = say_finished(options.out, options.json))
      return check_conv_train(options.require, *status, session);
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty()) {
    if (first) folder.emplace(options.out, settings.resume);
    settings.checkpoint = RunFolder::partial_of(options.out) / "checkpoint.safetensors";
  }
  progress.stage("reading " + options.source);
  const ImageSet images =
      read_images(options.source, with_threads(options.images, options.conv.device), progress);
  const ImageSet test = options.no_test ? ImageSet{} : test_images(options, progress);

  const ConvArchitecture shape = architecture_of(settings, images.classes());
  const double before = session.seconds();
  ConvResult result = train(images, test, settings, progress, [&](const std::vector<ConvRecord>& history) {
    if (folder) write_history(*folder, history, shape);
  });
  result.seconds += before;
  if (!first) {
    if (result.status == ConvStatus::interrupted) session.exit_code = stopped_code();
    return;
  }
  const Next next = after_conv(session.arguments, options.source, options.out, result);
  if (folder) write_conv(*folder, images, options.images, settings, result, session.arguments, next);
  answer(options.json ? conv_json(images, settings, result, next) + "\n"
                      : conv_text(images, settings, result) + "\n" + in_flags(next_text(next)));
  if (result.status == ConvStatus::interrupted) {
    const std::string again =
        fmt::format("zeroloss {}{}", shell_command({session.arguments.begin() + 1, session.arguments.end()}),
                    settings.resume ? "" : " --resume");
    return tell_interrupted(folder ? again : "", "with --out a run can be resumed", session);
  }
  check_conv_train(options.require, name(result.status), session);
}

/// What nobody gave is what the recipe says; steps and epochs exclude each other.
void add_options(const Command& command, ConvTrainArguments& o) {
  std::optional<Option> steps, epochs;
  fields(o.conv, [&]<class Value>(const Field& field, Value& value) {
    if constexpr (!std::is_same_v<Value, std::filesystem::path>) {
      if (*field.heading == '\0') return;
      const Option option =
          as_said(command.group(field.heading).option(flag_of(field), value, field.help), field);
      if constexpr (std::is_same_v<Value, std::vector<double>>)
        option.separated_by(',').repeated().default_text(fmt::format("{}", fmt::join(value, ",")));
      if (const std::string_view name = field.name; name == "steps" || name == "epochs")
        (name == "steps" ? steps : epochs) = option;
      const auto at = reinterpret_cast<const char*>(&value) - reinterpret_cast<const char*>(&o.conv);
      o.defaults.push_back([option, at, &value](const ConvOptions& recipe) {
        if (!option.given())
          value = *reinterpret_cast<const Value*>(reinterpret_cast<const char*>(&recipe) + at);
      });
    }
  });
  o.defaults.push_back([steps, epochs, &o](const ConvOptions&) {
    const bool has_steps = steps && steps->given(), has_epochs = epochs && epochs->given();
    if (has_epochs && has_steps && o.conv.steps > 0 && o.conv.epochs > 0)
      throw std::invalid_argument("--steps and --epochs: give one of them");
    if (has_epochs && !has_steps) o.conv.steps = 0;
  });
}

}  // namespace

void add_conv_train(Command& command, Session& session) {
  command.about("Train on the training images of DATA, evaluate on its test images");
  auto& o = command.runs(run_conv_train, session);
  o.images.cache = session.cache;
  try {
    o.conv = conv_recipe(asked_recipe(session.arguments));
  } catch (const std::invalid_argument&) {  // of which the check below says more
  }
  command.option("data", o.source, "A CIFAR folder, an image folder, or a name: cifar10, cifar100")
      .required();
  command
      .option("--recipe", o.recipe,
              "What all other options are where they are not given: paper, modern, small or imagenet")
      .one_of({"paper", "modern", "small", "imagenet"});
  add_image_options(command, o.images);
  const Command data = command.group("Data");
  data.option("--n-test", o.n_test, "evaluate on the first of the test images; 0 = all").non_negative();
  data.flag("--no-test", o.no_test, "do not evaluate on test images [off]");
  add_options(command, o);
  add_device_options(command, o.conv.device);
  command.option("--seed", o.images.seed, "of all that is random: an integer from 0 to 2^53 - 1")
      .between(0, kMostSeed);
  command.option("--require", o.require, "Exit with 1 unless this holds: memorized [none]")
      .one_of({"memorized"})
      .repeated();
  command.option("--out", o.out, "Write a run folder: model, metrics, figures, manifest [none]");
  command.flag("--resume", o.conv.resume, "Go on with an interrupted run of the same --out [off]")
      .not_in_config();
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss conv train cifar10 --out runs/paper",
                    "zeroloss conv train cifar10 --recipe modern --out runs/modern --resume",
                    "zeroloss conv train cifar10 --recipe small --out runs/small",
                    "zeroloss conv train photos --recipe imagenet --out runs/photos"});
}

}  // namespace zeroloss::app
