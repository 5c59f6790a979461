#include <fmt/format.h>

#include <algorithm>

#include "conv_options.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/present/conv.hpp"

namespace zeroloss::app {
namespace {

struct ConvEvaluateArguments {
  std::string model, source;
  ImageOptions images;
  ConvDevice device;
  bool json = false;
};

/// The names of the network's outputs; `images`, of which some classes may be, get the numbers of theirs.
std::vector<std::string> in_its_order(const ConvNetwork& network, ImageSet& images) {
  std::vector<std::string> names;  // as a model stores them
  names.reserve(images.class_names.size());
  for (const std::string& name : images.class_names) names.push_back(utf8(name));
  if (network.class_names.empty()) {
    if (std::ssize(names) != network.architecture.classes)
      throw DataError(fmt::format("{}: {} classes, but the network has {} outputs and does not name them",
                                  images.name, names.size(), network.architecture.classes));
    return names;
  }
  std::vector<std::int64_t> number;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(network.class_names, name);
    if (found == network.class_names.end())
      throw DataError(fmt::format("{}: its classes ({}) are others than the model's ({})", images.name,
                                  excerpt(names), excerpt(network.class_names)));
    number.push_back(found - network.class_names.begin());
  }
  for (std::int64_t& label : images.labels) label = number[static_cast<std::size_t>(label)];
  return network.class_names;
}

void run_conv_evaluate(const ConvEvaluateArguments& options, Session& session) {
  auto progress = session.progress();
  const ConvNetwork network = read_conv_network(options.model);
  progress.stage("reading " + options.source);
  ImageSet images = read_images(options.source, with_threads(options.images, options.device), progress);
  const std::vector<std::string> names = in_its_order(network, images);
  const ConvEvaluation result = evaluate(predict(network, images, options.device, progress), images.labels);
  const Next next = after_conv_evaluation(options.model);
  if (options.json) {
    answer(evaluation_json(result, names, options.images.split, next) + "\n");
    return;
  }
  answer(fmt::format("{}, {} images: {}\n{}", images.name, options.images.split,
                     evaluation_text(result, names), next_text(next)));
}

}  // namespace

void add_conv_evaluate(Command& command, Session& session) {
  command.about("How often a network is right, class by class");
  auto& o = command.runs(run_conv_evaluate, session);
  o.images.cache = session.cache;
  o.images.split = "test";
  command.option("model", o.model, "A .safetensors file, or a run folder that holds model.safetensors")
      .required();
  command.option("data", o.source, "A CIFAR folder, an image folder, or a name: cifar10, cifar100")
      .required();
  const Command data = command.group("Data");
  data.option("--split", o.images.split, "train or test").one_of({"train", "test"});
  add_image_options(command, o.images);
  data.option("--seed", o.images.seed, "of --shuffle and --labels").between(0, kMostSeed);
  add_device_options(command, o.device);
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss conv eval runs/paper cifar10",
                    "zeroloss conv eval runs/paper cifar10 --split train --json",
                    "zeroloss conv eval runs/photos photos --device cuda"});
}

}  // namespace zeroloss::app
