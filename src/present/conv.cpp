#include "zeroloss/present/conv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include "base/even_choice.hpp"
#include "base/field_text.hpp"
#include "present/common.hpp"
#include "present/table.hpp"
#include "zeroloss/chart/chart.hpp"

namespace zeroloss {
using namespace internal;
namespace {

Json options_json(const ConvOptions& o, Index steps) {
  Json json = told(o);
  json["steps"] = steps;
  return json;
}

/// The last part of a path.
std::string title(const ImageSet& images) {
  const std::filesystem::path path(images.name);
  return (path.has_filename() ? path : path.parent_path()).filename();
}

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }
std::string tenths(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

std::string facts(const ConvOptions& o, const ConvResult& r) {
  Facts fact(12);
  const std::vector<ConvLayer> all = layers(r.network.architecture);
  fact("network", fmt::format("{} convolutions, {} weights, {} million multiply-adds an image", all.size(),
                              with_commas(r.weights),
                              short_number(std::round(multiply_adds(r.network.architecture) / 1e4) / 100)));
  fact("training", fmt::format("{} steps of {} images, learning rate {} ({}){}", with_commas(r.steps),
                               o.batch, o.learning_rate, o.schedule,
                               o.average > 0 ? fmt::format(", mean weights of decay {}", o.average) : ""));
  fact("device", fmt::format("{}, {}{}", r.device, r.precision,
                             r.processes > 1 ? fmt::format(", {} processes", r.processes) : ""));
  if (!r.history.empty()) {
    const ConvRecord& last = r.history.back();
    fact("last steps", fmt::format("loss {:.4f}, error {} while training, {} images/s", last.train_loss,
                                   percent(last.train_error), short_number(std::round(last.images_per_s))));
    const auto [least, most] = std::ranges::minmax_element(last.block_norms);
    fact("blocks",
         fmt::format("norms from {:.3g} to {:.3g}: how far each is from the identity", *least, *most));
  }
  return fact.text();
}

std::string most_taken_for(const ConvEvaluation& e, std::size_t label,
                           const std::vector<std::string>& names) {
  std::size_t most = label;
  Index count = 0;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (k != label && e.confusion[label][k] > count) count = e.confusion[label][most = k];
  return count > 0 ? names[most] : "";
}

/// Curves over steps of what `value` says of each record.
template <class Value>
Curve curve(const std::string& name, const std::vector<ConvRecord>& history, Value value) {
  Curve c{name, {}, {}, {}};
  for (const ConvRecord& r : history)
    if (const std::optional<double> y = value(r)) {
      c.x.push_back(static_cast<double>(r.step));
      c.y.push_back(*y);
    }
  return c;
}

std::string error_figure(const ImageSet& images, const std::vector<ConvRecord>& history) {
  std::vector<Curve> curves{
      curve("while training", history, [](const ConvRecord& r) { return std::optional(r.train_error); })};
  auto test = curve("test", history, [](const ConvRecord& r) { return r.test_error; });
  if (!test.x.empty()) curves.push_back(std::move(test));
  return line_chart(title(images) + ": error along training", {"step"}, {"fraction wrong"}, curves);
}

/// Depth against norm, a curve for each of a few moments: residual blocks start next to the identity.
std::string norms_figure(const ImageSet& images, const std::vector<ConvRecord>& history) {
  constexpr Index kCurves = 6;
  std::vector<Curve> curves;
  for (const Index k : even_choice(std::ssize(history), kCurves)) {
    const ConvRecord& r = history[static_cast<std::size_t>(k)];
    Curve c{fmt::format("step {}", with_commas(r.step)), {}, r.block_norms, {}};
    for (std::size_t j = 0; j < r.block_norms.size(); ++j) c.x.push_back(static_cast<double>(j + 1));
    curves.push_back(std::move(c));
  }
  return line_chart(title(images) + ": distance of each block from the identity", {"residual block"},
                    {"norm of its weights"}, curves);
}

Json to_json(const ConvEvaluation& e, const std::vector<std::string>& names) {
  Json json = told(e);
  json["class_names"] = names;
  return json;
}

Json images_json(const ImageSet& images, const ImageOptions& o) {
  return {{"name", images.name}, {"digest", images.digest}, {"n", images.n()},
          {"split", o.split},    {"shuffle", o.shuffle},    {"classes", images.class_names},
          {"labels", o.labels},  {"seed", o.seed},          {"corrupt", images.corrupt}};
}

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
  found.reserve(order.size());
  for (const Index k : order)
    found.push_back({network.class_names.empty() ? fmt::format("{}", k)
                                                 : network.class_names[static_cast<std::size_t>(k)],
                     std::exp(static_cast<double>(outputs[k]) - largest) / sum});
  return found;
}

}  // namespace

std::string evaluation_text(const ConvEvaluation& e, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  std::string text = fmt::format("{} of {} wrong: top-1 error {}", with_commas(e.wrong),
                                 count(e.n, "image", "images"), percent(e.top1_error));
  if (names.size() > 5) text += fmt::format(", top-5 error {}", percent(e.top5_error));
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (!std::isnan(e.per_class_error[k])) order.push_back(k);
  const std::size_t more = keep_worst(order, kShown, [&](std::size_t k) { return e.per_class_error[k]; });
  Table table({"class", "images", "wrong", "error", "mostly taken for"});
  for (const std::size_t k : order) {
    Index images = 0;
    for (const Index found : e.confusion[k]) images += found;
    table.add({names[k], with_commas(images), with_commas(images - e.confusion[k][k]),
               tenths(e.per_class_error[k]), most_taken_for(e, k, names)});
  }
  text += "\n\n" + table.text();
  if (more > 0) text += fmt::format("and {} more with no larger errors\n", more);
  return text;
}

std::string evaluation_json(const ConvEvaluation& e, const std::vector<std::string>& names,
                            const std::string& split, const Next& next) {
  Json json = to_json(e, names);
  json["split"] = split;
  json["next"] = told(next);
  return json.dump(1);
}

std::string conv_text(const ImageSet& images, const ConvOptions& options, const ConvResult& r) {
  std::string text = fmt::format("{}: {}", images.name, count(r.n, "training image", "training images"));
  if (r.n_test > 0) text += " and " + count(r.n_test, "test image", "test images");
  text += fmt::format(", {} classes", images.classes());
  if (images.label_treatment != "given") text += fmt::format("; labels: {}", images.label_treatment);
  if (!images.corrupt.empty())
    text += fmt::format("; {} left out", count(std::ssize(images.corrupt), "damaged file", "damaged files"));
  for (const std::string& remark : images.remarks) text += "; " + remark;
  text += "\n\n" + r.conclusion + "\n\n" + facts(options, r);
  if (r.test) text += "\ntest images: " + evaluation_text(*r.test, images.class_names);
  return text + fmt::format("\n{:.1f} s\n", r.seconds);
}

std::string conv_json(const ImageSet& images, const ConvOptions& options, const ConvResult& r,
                      const Next& next) {
  Json json = answer_json(images.name, images.digest, images.label_treatment);
  json["corrupt"] = images.corrupt;
  json["architecture"] = told(r.network.architecture);
  json["options"] = options_json(options, r.planned_steps);
  tell(json, r);
  if (r.train) json["train"] = to_json(*r.train, images.class_names);
  if (r.test) json["test"] = to_json(*r.test, images.class_names);
  json["next"] = told(next);
  json["images_per_s"] = r.history.empty() ? Json() : Json(r.history.back().images_per_s);
  return json.dump(1);
}

void write_history(RunFolder& folder, const std::vector<ConvRecord>& history,
                   const ConvArchitecture& architecture) {
  std::string metrics = csv_names(ConvRecord{}) + "\n";
  std::string norms = "step";
  const std::vector<ConvLayer> all = layers(architecture);
  for (std::size_t j = 1; j < all.size(); j += 2)
    norms += fmt::format(",{}", all[j].name.substr(0, all[j].name.rfind('.')));
  norms += '\n';
  for (const ConvRecord& r : history) {
    metrics += csv_values(r) + "\n";
    norms += fmt::format("{}", r.step);
    for (const double norm : r.block_norms) norms += fmt::format(",{}", norm);
    norms += '\n';
  }
  folder.write("metrics.csv", metrics);
  folder.write("norms.csv", norms);
}

void write_conv(RunFolder& folder, const ImageSet& images, const ImageOptions& read,
                const ConvOptions& options, const ConvResult& r, const std::vector<std::string>& command,
                const Next& next) {
  write_history(folder, r.history, r.network.architecture);
  folder.write("result.json", conv_json(images, options, r, next) + "\n");
  if (r.status == ConvStatus::interrupted) return;
  if (const auto& evaluation = r.test ? r.test : r.train)
    folder.write("evaluation.json",
                 evaluation_json(*evaluation, images.class_names, r.test ? "test" : "train") + "\n");
  if (r.status != ConvStatus::diverged)  // weights of a diverged run may not be numbers
    save_model(folder.file("model.safetensors"), r.network,
               {{"options", options_json(options, r.planned_steps).dump()},
                {"data", images.name},
                {"digest", images.digest}});
  if (!r.history.empty()) {
    folder.write("error.vl.json", error_figure(images, r.history));
    folder.write("norms.vl.json", norms_figure(images, r.history));
  }
  folder.write("manifest.json", manifest("conv", command, options_json(options, r.planned_steps),
                                         images_json(images, read), r.seconds));
  folder.remove("checkpoint.safetensors");
  folder.finish();
}

std::string guesses_text(const ConvNetwork& network, const std::vector<std::string>& files,
                         const Logits& logits, Index top) {
  Table table({"image", "class", "probability", "or"});
  for (Index i = 0; i < logits.rows(); ++i) {
    const std::vector<Guess> found = guesses(network, logits.row(i).data(), top);
    std::string others;
    for (const Guess& guess : std::span(found).subspan(1))
      others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", guess.name, tenths(guess.probability));
    table.add(
        {files[static_cast<std::size_t>(i)], found.front().name, tenths(found.front().probability), others});
  }
  return table.text();
}

std::string guesses_json(const ConvNetwork& network, const std::vector<std::string>& files,
                         const Logits& logits, Index top) {
  Json json = Json::array();
  for (Index i = 0; i < logits.rows(); ++i) {
    Json list = Json::array();
    for (const Guess& guess : guesses(network, logits.row(i).data(), top))
      list.push_back({{"class", guess.name}, {"probability", guess.probability}});
    json.push_back({{"image", files[static_cast<std::size_t>(i)]}, {"classes", list}});
  }
  return json.dump(1);
}

}  // namespace zeroloss
