#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "conv_options.hpp"

namespace zeroloss::app {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model;
  std::vector<std::string> files;
  Index top = 3;
  ConvDevice device;
  bool json = false;
};

struct Guess {
  std::string name;
  double probability = 0;
};

/// The classes of the largest outputs, with their softmax.
std::vector<Guess> guesses(const ConvNetwork& network, const float* outputs, Index top) {
  const Index classes = network.architecture.classes;
  const double largest = static_cast<double>(*std::max_element(outputs, outputs + classes));
  double sum = 0;
  std::vector<Index> order;
  for (Index k = 0; k < classes; ++k) {
    order.push_back(k);
    sum += std::exp(static_cast<double>(outputs[k]) - largest);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](Index k) { return outputs[k]; });
  order.resize(static_cast<std::size_t>(std::min(top, classes)));
  std::vector<Guess> found;
  for (const Index k : order)
    found.push_back({network.class_names.empty() ? fmt::format("{}", k)
                                                 : network.class_names[static_cast<std::size_t>(k)],
                     std::exp(static_cast<double>(outputs[k]) - largest) / sum});
  return found;
}

void run(const Options& options, Session& session) {
  auto progress = session.progress();
  const ConvNetwork network = read_conv_network(options.model);
  ImageSet images;
  images.files = options.files;
  images.labels.assign(options.files.size(), 0);
  const Logits logits = predict(network, images, options.device, progress);
  Json json = Json::array();
  Table table({"image", "class", "probability", "or"});
  for (Index i = 0; i < logits.rows(); ++i) {
    const std::string& file = options.files[static_cast<std::size_t>(i)];
    const std::vector<Guess> found = guesses(network, logits.row(i).data(), options.top);
    Json list = Json::array();
    std::string others;
    for (const Guess& guess : found) {
      list.push_back({{"class", guess.name}, {"probability", guess.probability}});
      if (&guess != &found.front())
        others +=
            fmt::format("{}{} ({:.1f} %)", others.empty() ? "" : ", ", guess.name, 100 * guess.probability);
    }
    json.push_back({{"image", file}, {"classes", list}});
    table.add({file, found.front().name, fmt::format("{:.1f} %", 100 * found.front().probability), others});
  }
  fmt::print("{}", options.json ? dump(json) + "\n" : table.text());
}

}  // namespace

void add_conv_predict(Command& command, Session& session) {
  command.about("What a network sees in image files");
  auto& o = command.runs(run, session);
  command.option("model", o.model, "A .safetensors file, or a run folder that holds model.safetensors")
      .required();
  command.option("images", o.files, "JPEG or PNG files").required();
  command.option("--top", o.top, "Classes to name for each image, >= 1").positive();
  add_device_options(command, o.device);
  command.flag("--json", o.json, "Print a JSON list, an object for each image [off]");
}

}  // namespace zeroloss::app
