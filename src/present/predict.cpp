#include "zeroloss/present/predict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/json.hpp"
#include "base/percentage.hpp"
#include "present/common.hpp"
#include "present/table.hpp"

namespace zeroloss {
using namespace internal;
namespace {

std::string conclusion(const Dataset& data, const Prediction& answer) {
  const Index n = data.n(), right = n - std::ssize(answer.wrong);
  if (!answer.error)
    return fmt::format(
        "{}, {}", count(n, "point", "points"),
        data.task == Task::none ? "no labels to compare with" : "targets are not compared with");
  if (answer.labels.empty())
    return fmt::format("relative misfit {:.3g} on {}", *answer.error, count(n, "point", "points"));
  if (right == n)
    return n == 1 ? "the point is right" : fmt::format("all {} are right", count(n, "point", "points"));
  const Index permille = std::min<Index>((right * 2000 + n) / (2 * n), 999);  // 100 % is said of all only
  return fmt::format("{}.{} % of {} right", permille / 10, permille % 10, count(n, "point", "points"));
}

struct ClassCount {
  std::string name;
  Index n = 0, wrong = 0;
  std::map<std::string, Index> taken_for;

  double error() const { return static_cast<double>(wrong) / static_cast<double>(n); }
};

std::string class_table(const Model& model, const Dataset& data, const Prediction& answer) {
  constexpr std::size_t kShown = 12;
  std::vector<ClassCount> counts;
  counts.reserve(data.class_names.size());
  for (const std::string& name : data.class_names) counts.push_back({utf8(name), 0, 0, {}});
  for (Index i = 0; i < data.n(); ++i) {
    ClassCount& count = counts[static_cast<std::size_t>(data.y(i))];
    const std::string& predicted = answer.predicted[static_cast<std::size_t>(i)];
    ++count.n;
    if (predicted != count.name) ++count.wrong, ++count.taken_for[predicted];
  }
  const std::size_t more = keep_worst(counts, kShown, &ClassCount::error);
  Table table({"class", "points", "wrong", "error", "mostly taken for"});
  for (const ClassCount& count : counts) {
    const auto most = std::ranges::max_element(count.taken_for, {}, [](const auto& e) { return e.second; });
    const bool known = std::ranges::find(model.class_names, count.name) != model.class_names.end();
    table.add({count.name, with_commas(count.n), with_commas(count.wrong), percentage(count.error(), 2),
               (count.wrong > 0 ? most->first : "") + (known ? "" : " (a class the model does not know)")});
  }
  return table.text() + (more > 0 ? fmt::format("and {} more with no larger errors\n", more) : "");
}

/// A point as people know it: its record, and its id if it has one.
std::string called(const Dataset& data, std::size_t i) {
  return data.ids.empty() ? fmt::format("{}", data.records[i])
                          : fmt::format("{} '{}'", data.records[i], excerpt(data.ids[i]));
}

/// A line on the samples beyond those that are shown; empty where there are none.
std::string more_in_csv(Index more, bool has_csv) {
  return more > 0
             ? fmt::format("  and {} more ({})\n", more, has_csv ? "the csv lists all" : "`out` writes all")
             : "";
}

std::string sample_table(const Dataset& data, const Prediction& answer, bool has_csv) {
  constexpr std::size_t kShown = 10;
  Table table({"sample", "label", "predicted"});
  for (std::size_t k = 0; k < std::min(kShown, answer.wrong.size()); ++k) {
    const auto i = static_cast<std::size_t>(answer.wrong[k]);
    table.add({called(data, i), answer.labels[i], answer.predicted[i]});
  }
  return "wrong\n" + table.text("  ") +
         more_in_csv(std::ssize(answer.wrong) - static_cast<Index>(kShown), has_csv);
}

std::string residual_table(const Dataset& data, const Prediction& answer) {
  const Vector residual = (answer.outputs.col(0) - data.y).cwiseAbs();
  std::vector<Index> order(static_cast<std::size_t>(data.n()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  const std::size_t shown = std::min<std::size_t>(5, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown), std::ranges::greater{},
                            [&](Index i) { return residual(i); });
  Table table({"sample", "target", "predicted", "off by"});
  for (std::size_t k = 0; k < shown; ++k)
    table.add({called(data, static_cast<std::size_t>(order[k])), fmt::format("{:.7g}", data.y(order[k])),
               fmt::format("{:.7g}", answer.outputs(order[k], 0)),
               fmt::format("{:.2g}", residual(order[k]))});
  return "furthest off\n" + table.text("  ");
}

/// Of points without labels.
std::string first_table(const Model& model, const Dataset& data, const Prediction& answer, bool has_csv) {
  constexpr Index kShown = 10;
  if (model.task == Task::none) return "";
  Table table({"sample", "predicted"});
  for (Index i = 0; i < std::min(kShown, data.n()); ++i)
    table.add({called(data, static_cast<std::size_t>(i)),
               model.task == Task::regression ? fmt::format("{:.7g}", answer.outputs(i, 0))
                                              : answer.predicted[static_cast<std::size_t>(i)]});
  return table.text("  ") + more_in_csv(data.n() - kShown, has_csv);
}

/// Where outputs for classes are far from all that training asks for: which of them is largest says little.
std::string remark(const Model& model, const Prediction& answer) {
  constexpr double kFar = 1000;  // training asks for 1, 0 or -1
  if (model.task != Task::classification || answer.outputs.size() == 0) return "";
  const Index far = (answer.outputs.cwiseAbs().rowwise().maxCoeff().array() > kFar).count();
  if (far == 0) return "";
  return fmt::format(
      "{} with outputs above {} (up to {}), where training asks for 1: far from what it was "
      "trained on, and no more than guesses\n",
      count(far, "point", "points"), kFar, short_number(answer.outputs.cwiseAbs().maxCoeff(), Rounding::up));
}

/// What is proved of a kernel model's classes.
std::string decided_text(const Prediction& answer) {
  if (answer.decided.empty()) return "";
  const Index m = std::ssize(answer.decided), proved = std::ranges::count(answer.decided, true);
  return proved == m && m == 1
             ? "the predicted class is that of the exact predictor, proved\n"
             : fmt::format("{} of {} predicted classes are those of the exact predictor, proved\n",
                           with_commas(proved), with_commas(m));
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string predict_text(const std::string& file, const Model& model, const Dataset& data,
                         const Prediction& answer, bool has_csv) {
  std::string text = fmt::format("{}: {}\n{}{}{}: {}\n", data.name, conclusion(data, answer),
                                 decided_text(answer), remark(model, answer), file, model.description);
  for (const std::string& said : model.notes) text += "  " + said + "\n";
  for (const std::string& said : data.shown_remarks()) text += "  " + said + "\n";
  if (!answer.error) return text + "\n" + first_table(model, data, answer, has_csv);
  if (answer.labels.empty()) return text + "\n" + residual_table(data, answer);
  text += "\n" + class_table(model, data, answer);
  return answer.wrong.empty() ? text : text + "\n" + sample_table(data, answer, has_csv);
}

std::string export_text(const std::string& file, const Model& model) {
  std::string text = fmt::format("{}: {}\n", file, model.signature);
  if (!model.encoding.empty()) text += fmt::format("x: {}\n", fmt::join(model.encoding.features(), ", "));
  if (model.task != Task::classification) return text;
  std::vector<std::string> numbered;
  numbered.reserve(model.class_names.size());
  for (const std::string& name : model.class_names)
    numbered.push_back(fmt::format("{} = {}", numbered.size(), name));
  return text + fmt::format("label: {}\n", fmt::join(numbered, ", "));
}

std::string predict_json(const std::string& file, const Model& model, const Dataset& data,
                         const Prediction& answer, const Next& next) {
  Json predictions = answer.predicted, outputs = Json::array();
  for (const auto& row : answer.outputs.rowwise()) {
    if (model.task == Task::regression) predictions.push_back(row(0));
    outputs.push_back(std::vector<double>(row.begin(), row.end()));
  }
  std::vector<std::string> remarks = model.notes;
  remarks.insert(remarks.end(), data.remarks.begin(), data.remarks.end());
  Json json{
      {"model", file},
      {"kind", model.kind},
      {"data", data.name},
      {"n", data.n()},
      {"error", answer.error},
      {"predictions", model.task == Task::none ? Json() : predictions},
      {"outputs", outputs},
      {"remarks", remarks},
      {"largest_output", answer.outputs.size() > 0 ? Json(answer.outputs.cwiseAbs().maxCoeff()) : Json()},
      {"next", told(next)}};
  if (!answer.decided.empty()) json["decided"] = answer.decided;
  return json.dump(1);
}

std::string predict_csv(const Model& model, const Dataset& data, const Prediction& answer) {
  const bool numbers = model.task == Task::regression;
  std::string text = "sample";
  if (!data.ids.empty()) text += ",id";
  if (answer.error) text += numbers ? ",target" : ",label";
  if (model.task != Task::none) text += ",predicted";
  if (!answer.decided.empty()) text += ",decided";
  if (!numbers)  // there the output is what is predicted
    for (Index k = 0; k < answer.outputs.cols(); ++k)
      text += answer.outputs.cols() == std::ssize(model.class_names)
                  ? "," + csv_field("output_" + model.class_names[static_cast<std::size_t>(k)])
                  : fmt::format(",output_{}", k);
  text += '\n';
  for (Index i = 0; i < data.n(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    text += fmt::format("{}", data.records[place]);
    if (!data.ids.empty()) text += ',' + csv_field(data.ids[place]);
    if (answer.error)
      text += ',' + (numbers ? fmt::format("{}", data.y(i)) : csv_field(answer.labels[place]));
    if (!answer.predicted.empty()) text += ',' + csv_field(answer.predicted[place]);
    if (!answer.decided.empty()) text += answer.decided[place] ? ",true" : ",false";
    for (const double output : answer.outputs.row(i)) text += fmt::format(",{}", output);
    text += '\n';
  }
  return text;
}

}  // namespace zeroloss
