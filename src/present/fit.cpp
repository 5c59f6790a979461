#include "zeroloss/present/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/field_text.hpp"
#include "base/percentage.hpp"
#include "present/advice.hpp"
#include "present/claims_of.hpp"
#include "present/common.hpp"
#include "present/pictures.hpp"
#include "present/table.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/chart/chart.hpp"
#include "zeroloss/deep/model.hpp"
#include "zeroloss/network/kernel_network.hpp"
#include "zeroloss/network/model.hpp"
#include "zeroloss/present/loss.hpp"
#include "zeroloss/theory/guarantee.hpp"
#include "zeroloss/train/optimizers.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// ---- text ----

std::string proof_text(const FitOptions& options, const FitResult& r) {
  const Certificate& c = r.certificate;
  const bool several = r.outputs.size() > 1;
  if (!c.holds) return c.reason.empty() ? "" : fmt::format("not certified: {}\n", c.reason);
  const char* who = several ? "of every class " : "";
  const std::string weights = options.deep() ? "weights" : "hidden weights",
                    others = options.deep() ? r.layers == "all" ? "" : ", those of other layers as they are,"
                                            : ", with these output weights,";
  double longest = 0;
  for (const OutputResult& output : r.outputs) longest = std::max(longest, output.step);
  if (!optimizer(options.optimizer).hidden)
    return fmt::format(
        "proved, rounding included: output weights {}within {} of these, with these hidden weights, fit "
        "exactly\n",
        who, above(c.radius));
  std::string text = fmt::format("proved, rounding included: {} {}within {} of these{} fit exactly\n",
                                 weights, who, above(c.radius), others);
  if (c.kind == "descent")
    text += fmt::format("and gradient descent from here with any step up to {} converges to such weights{}\n",
                        below(c.step),
                        longest > c.step ? fmt::format(" (the run's own step was {:.3g})", longest) : "");
  else
    text += fmt::format("(that gradient descent reaches them is not proved: {})\n", c.reason);
  return text;
}

std::string class_table(const FitResult& r) {
  const bool features = r.certificate.kind == "output_weights";
  const char* gram = features ? "lambda_min(Phi Phi')" : "lambda_min(JJ')";
  std::vector<std::string> columns{"class",  "status", "steps", "misfit", "proved",
                                   "within", "margin", gram,    "seconds"};
  if (r.test) columns.emplace_back("test error");
  Table table(columns);
  constexpr std::size_t kShown = 30;
  std::vector<const OutputResult*> shown;
  shown.reserve(r.outputs.size());
  for (const OutputResult& o : r.outputs) shown.push_back(&o);
  const std::size_t more = keep_worst(shown, kShown, [](const OutputResult* o) {  // what stands in the way
    return std::pair(!o->certificate.holds, std::isnan(o->relative_misfit) ? HUGE_VAL : o->relative_misfit);
  });
  for (const OutputResult* output : shown) {
    const OutputResult& o = *output;
    std::vector<std::string> row{o.label,
                                 name(o.status),
                                 with_commas(o.steps),
                                 fmt::format("{:.2g}", o.relative_misfit),
                                 o.certificate.kind,
                                 o.certificate.holds ? above(o.certificate.radius) : "",
                                 o.certificate.margin > 0 ? below(o.certificate.margin) : "",
                                 below(o.certificate.lambda_min),
                                 fmt::format("{:.1f}", o.seconds)};
    if (r.test) {
      const CurvePoint& last = o.curve.back();
      row.push_back(last.test_error ? percentage(*last.test_error) : "");
    }
    table.add(row);
  }
  return table.text() +
         (more > 0 ? fmt::format("and {} more, fitted no worse (JSON lists all)\n", more) : "");
}

std::string test_text(const FitOptions& options, const FitResult& r) {
  if (!r.test) return "";
  const std::string points = count(r.test->n, "point", "points");
  return fmt::format(
      "on {}, not fitted: {}\n", options.test.source,
      r.test->wrong
          ? fmt::format("{} of {} wrong ({})", with_commas(*r.test->wrong), points, percentage(r.test->error))
          : fmt::format("root mean square error {:.3g} at {}", r.test->error, points));
}

FitOptions in_force(FitOptions options, const FitResult& r) {
  if (r.kernel) {
    options.activation = r.kernel->activation;
    options.ridge = fmt::format("{}", r.kernel->ridge);
  } else if (options.activation == "auto" && !optimizer(options.optimizer).infinite) {
    options.activation = kUsualActivation;
  }
  if (options.widths.empty()) options.width = r.width;
  return options;
}

// What to expect of points that were not fitted, in a line.
std::string unseen_text(const Dataset& data, const FitResult& r) {
  if (!r.leave_one_out_error)
    return r.conflicts.empty() && r.n > kMostLeftOut
               ? fmt::format("unseen points: not estimated for more than {} points; certify says it\n",
                             with_commas(kMostLeftOut))
               : "";
  const double error = *r.leave_one_out_error, guess = r.guessing_error.value_or(1);
  const std::string among = r.solution && r.solution->chosen_on < r.n
                                ? fmt::format(" among {} of them", with_commas(r.solution->chosen_on))
                                : std::string();
  const std::string network = r.kernel ? among : " at infinite width and zero loss";
  return fmt::format("unseen points: {}\n", unseen_advice(data, error, guess, network));
}

std::string start_text(const FitOptions& o) {
  return fmt::format(
      "weights of {}{}", o.start.source,
      o.start.has_v() ? "" : fmt::format("; it has no v: output weights are drawn (seed {})", o.seed));
}

std::string facts(const Dataset& data, const FitOptions& o, const FitResult& r) {
  Facts fact(26);
  if (r.kernel) {
    const Index looked = r.solution ? r.solution->activation_chosen_on : 0;
    fact("network",
         fmt::format("{}{}, infinitely wide, as a sum of kernels at {}", r.kernel->activation,
                     looked == 0 ? ""
                     : looked == r.n
                         ? " (chosen by leave-one-out)"
                         : fmt::format(" (chosen by leave-one-out on {} of the points; `activation` "
                                       "takes another)",
                                       with_commas(looked)),
                     count(r.kernel->n(), "point", "points")));
    fact("ridge",
         fmt::format("{:.3g} of the kernel's diagonal{}{}", r.kernel->ridge,
                     o.ridge != "auto" ? ""
                     : r.solution && r.solution->chosen_on < r.n
                         ? fmt::format(", chosen by leave-one-out on {} of the points",
                                       with_commas(r.solution->chosen_on))
                         : ", chosen by leave-one-out",
                     r.solution && r.solution->ridge_at_end
                         ? r.kernel->ridge < 1 ? ", the least that was tried (`ridge` takes others)"
                                               : ", the largest that was tried (`ridge` takes others)"
                         : ""));
    if (r.solution) {
      const KernelSolution& s = *r.solution;
      fact("solved", s.solver == "cg" ? fmt::format("{} of conjugate gradients, residual {} of the targets",
                                                    count(s.steps, "step", "steps"), above(s.residual))
                                      : "by a factor of the kernel");
      const double size = data.task == Task::classification ? 1 : data.y.cwiseAbs().maxCoeff();
      if (s.verified && s.error < size)
        fact("exact predictor",
             fmt::format("within {} of every output at every point, before that is rounded, proved",
                         above(s.error)));
    }
    if (r.n_distinct < r.n) fact("distinct points", with_commas(r.n_distinct));
    fact("relative misfit", above(r.relative_misfit));
    return fact.text();
  }
  if (optimizer(o.optimizer).infinite) return "";
  if (r.deep)
    fact("network", fmt::format("{}, {}; trained: {} layers", describe(*r.deep), o.precision, r.layers));
  else
    fact("network", fmt::format("{}, {} hidden units{}{}, {} scaling, {}", in_force(o, r).activation,
                                with_commas(r.width), o.deep() ? " a layer" : "",
                                r.outputs.size() > 1 ? " for each class" : "", o.scaling, o.precision));
  if (!o.start.drawn()) fact("start", start_text(o));
  fact("training", fmt::format("{}{}, computed in the space of {}", o.optimizer,
                               r.step > 0 ? fmt::format(" with step {:.4g}{}", r.step,
                                                        r.outputs.size() > 1 ? " of the first network" : "")
                                          : "",
                               r.space == "gram" ? "outputs (X X^T)" : "weights"));
  fact("loss", loss_and_step(data.task));
  if (!r.engine.empty()) fact("computed by", r.engine);
  if (r.n_distinct < r.n) fact("distinct points", with_commas(r.n_distinct));
  fact("relative misfit", above(r.relative_misfit));
  if (r.certificate.lambda_min > 0 && r.outputs.size() == 1)
    fact(!optimizer(o.optimizer).hidden ? "lambda_min(Phi Phi^T) >=" : "lambda_min(J J^T) >=",
         decimal(r.certificate.lambda_min, 4, Rounding::down));
  if (r.certificate.margin > 0)
    fact("margin of the proof", fmt::format("{} (above 1 it holds)", below(r.certificate.margin)));
  if (optimizer(o.optimizer).hidden) {
    fact("farthest neuron moved", fmt::format("{:.3g}", r.max_distance));
    fact("signs flipped", percentage(r.flipped_fraction));
  }
  return fact.text();
}

std::string theory_text(const FitResult& r) {
  const OutputResult& first = r.outputs.front();
  const TheoremBeside& t = first.theorem;
  std::string text;
  if (r.outputs.size() > 1) text += fmt::format("of class {}:\n", first.label);
  if (!first.curve.empty())
    if (const CurvePoint& last = first.curve.back(); last.forecast)
      text += fmt::format("forecast at infinite width: misfit {:.2g} at step {}\n", *last.forecast,
                          with_commas(last.step));
  if (t.theorem.empty()) return text + fmt::format("{}\n", t.reason);
  if (t.id.empty())
    return text +
           "the start has a certificate, whose rate bounds the misfit of every step in exact arithmetic\n";
  text += t.holds ? fmt::format("{} holds, but for probability {}", t.theorem, above(t.failure_probability))
                  : fmt::format("{} does not hold: {}", t.theorem, t.reason);
  return text + "\n";
}

// ---- JSON ----

Json result_json(const Dataset& data, const FitOptions& options, const FitResult& r, const Next& next) {
  Json json = answer_json(data, told(in_force(options, r)));
  tell(json, r);
  json["next"] = told(next);
  return json;
}

// ---- files ----

std::string metrics_csv(const FitResult& r) {
  std::string csv = "output," + csv_names(CurvePoint{}) + "\n";
  for (std::size_t c = 0; c < r.outputs.size(); ++c)
    for (const CurvePoint& p : r.outputs[c].curve) csv += fmt::format("{},{}\n", c, csv_values(p));
  return csv;
}

enum class Over { root_mean_square, largest };

// What `value` says of each output, combined over outputs, at every step that one of them recorded. An output
// that has ended keeps its last value; steps of which `value` does not know all outputs are left out.
template <class Value>
Curve curve_over(Over over, const std::string& name, const FitResult& r, const Value& value) {
  std::vector<Index> steps;
  for (const OutputResult& o : r.outputs)
    for (const CurvePoint& p : o.curve) steps.push_back(p.step);
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  Curve curve{name, {}, {}, {}};
  for (const Index step : steps) {
    double squares = 0, largest = 0;
    bool known = true;
    for (const OutputResult& o : r.outputs) {
      const auto next = std::upper_bound(o.curve.begin(), o.curve.end(), step,
                                         [](Index s, const CurvePoint& p) { return s < p.step; });
      const std::optional<double> y = next == o.curve.begin() ? std::nullopt : value(*std::prev(next));
      known = known && y.has_value();
      if (known) squares += *y * *y, largest = std::max(largest, *y);
    }
    if (!known) continue;
    curve.x.push_back(static_cast<double>(step));
    curve.y.push_back(over == Over::largest ? largest
                                            : std::sqrt(squares / static_cast<double>(r.outputs.size())));
  }
  return curve;
}

std::string figure_title(const Dataset& data, const FitOptions& options, const FitResult& r) {
  const std::string width = r.kernel ? "infinitely wide" : with_commas(r.width) + " hidden units";
  return fmt::format("{}: {}, {}, {}", data.name, in_force(options, r).activation, width, options.optimizer);
}

// "Thm 4.1 (conditions not met)"; empty if no theorem covers the run.
std::string bound_name(const FitResult& r) {
  const TheoremBeside& t = r.outputs.front().theorem;
  if (t.theorem.empty()) return "";
  if (t.id.empty()) return "bound proved at the start";
  const std::string number = "Thm " + theorem(t.id).number;
  return t.holds ? "bound of " + number : number + " (conditions not met)";
}

std::string curve_figure(const Dataset& data, const FitOptions& options, const FitResult& r) {
  std::vector<Curve> curves;
  const auto add = [&](const std::string& name, const auto& value) {
    auto curve = curve_over(Over::root_mean_square, name, r, value);
    if (!curve.x.empty()) curves.push_back(std::move(curve));
  };
  add("measured", [](const CurvePoint& p) { return std::optional(p.relative_misfit); });
  add("forecast (infinite width)", [](const CurvePoint& p) { return p.forecast; });
  add(bound_name(r), [](const CurvePoint& p) { return p.bound_misfit; });
  return line_chart(figure_title(data, options, r), {"step", true}, {"relative misfit", true}, curves);
}

// The start is the distance 0, which a log axis does not show.
std::string distance_figure(const Dataset& data, const FitOptions& options, const FitResult& r) {
  std::vector<Curve> curves;
  const auto add = [&](Over over, const std::string& name, const auto& value) {
    auto curve = curve_over(over, name, r, value);
    if (!curve.x.empty()) curves.push_back(std::move(curve));
  };
  add(Over::root_mean_square, "all weights", [](const CurvePoint& p) { return std::optional(p.distance); });
  add(Over::root_mean_square, "weights, " + bound_name(r),
      [](const CurvePoint& p) { return p.bound_distance; });
  add(Over::largest, "farthest neuron", [](const CurvePoint& p) { return std::optional(p.max_distance); });
  add(Over::largest, "neuron, " + bound_name(r), [](const CurvePoint& p) { return p.bound_max_distance; });
  return line_chart(figure_title(data, options, r), {"step", true}, {"distance from the start", true},
                    curves);
}

// Of several classes the one with the largest error, against the rest.
std::string test_figure(const Dataset& data, const FitOptions& options, const FitResult& r) {
  const Curve curve =
      curve_over(Over::largest, options.test.source, r, [](const CurvePoint& p) { return p.test_error; });
  if (curve.x.empty()) return "";
  const char* error = data.task == Task::regression ? "root mean square error"
                      : r.outputs.size() > 1        ? "fraction wrong, worst class against the rest"
                                                    : "fraction wrong";
  return line_chart(figure_title(data, options, r) + ": points that are not fitted", {"step", true},
                    {error, false}, {curve});
}

}  // namespace

std::string fit_text(const Dataset& data, const FitOptions& given, const FitResult& r) {
  const FitOptions options = in_force(given, r);
  std::string text = heading(data, preparation(data, options.normalize, options.center)) + "\n\n" +
                     r.conclusion + "\n" + proof_text(options, r) + test_text(options, r) +
                     unseen_text(data, r) + "\n";
  if (r.outputs.size() > 1 && !r.kernel) text += class_table(r) + "\n";
  text += facts(data, given, r);
  if (!optimizer(options.optimizer).infinite) text += theory_text(r);
  if (options.polish && r.status != Status::interrupted)
    text += r.polished ? "polished.safetensors: weights at rounding level of an exact solution\n"
                       : "there is no polished network: existence is not proved for every output\n";
  return text + fmt::format("\n{:.1f} s\n", r.seconds);
}

std::string fit_json(const Dataset& data, const FitOptions& options, const FitResult& result,
                     const Next& next) {
  return result_json(data, options, result, next).dump(1);
}

namespace {

/// Records of equal points with different labels, and of those next to equal.
std::vector<Index> in_the_way(const FitResult& r) {
  constexpr std::size_t kGroups = 12, kOfEach = 4;
  std::vector<Index> records;
  for (std::size_t k = 0; k < std::min(kGroups, r.conflicts.size()); ++k)
    for (std::size_t i = 0; i < std::min(kOfEach, r.conflicts[k].size()); ++i)
      records.push_back(r.conflicts[k][i].record);
  if (r.nearest) records.insert(records.end(), {r.nearest->first.record, r.nearest->second.record});
  return records;
}

}  // namespace

namespace {

// What is finite: diverged weights may not be.
void write_models(RunFolder& folder, const Dataset& data, const FitOptions& options, const FitResult& r) {
  const Metadata extra{
      {"options", told(in_force(options, r)).dump()}, {"data", data.name}, {"digest", data.digest}};
  const auto model = folder.file("model.safetensors");
  if (r.deep && all_finite(*r.deep)) save_model(model, *r.deep, extra);
  if (r.kernel) save_model(model, *r.kernel, extra);
  if (r.deep || r.network.outputs.empty()) return;
  if (std::all_of(r.network.outputs.begin(), r.network.outputs.end(),
                  [](const TwoLayer& output) { return output.W.allFinite(); }))
    save_model(model, r.network, extra);
  if (options.polish && r.polished) save_model(folder.file("polished.safetensors"), *r.polished, extra);
}

}  // namespace

void write_fit(RunFolder& folder, const Dataset& data, const ReadOptions& read, const FitOptions& options,
               const FitResult& r, const std::vector<std::string>& command, const Next& next) {
  folder.write("result.json", fit_json(data, options, r, next) + "\n");
  folder.write("metrics.csv", metrics_csv(r));
  if (r.status == Status::interrupted) return;
  write_models(folder, data, options, r);
  folder.write("curve.vl.json", curve_figure(data, options, r));
  if (r.max_distance > 0) folder.write("distance.vl.json", distance_figure(data, options, r));
  if (const std::string figure = test_figure(data, options, r); !figure.empty())
    folder.write("test.vl.json", figure);
  write_pictures(folder, data, in_the_way(r));
  Claims claims(folder);
  claim_fit(claims, data, options, r);
  claims.write();
  folder.write("manifest.json", manifest("fit", command, told(in_force(options, r)), data, read, r.seconds));
  folder.remove("checkpoint.safetensors");
  folder.finish();
}

void check_same_run(const FinishedRun& run, const Dataset& data, const FitOptions& options) {
  const Json was = Json::parse(run.result), now = told(options);
  const auto differs = [](const Json* a, const Json& b) { return a != nullptr && a->dump() != b.dump(); };
  if (differs(was.find("digest"), told(data.digest)) || differs(was.find("n"), data.n()))
    throw std::invalid_argument(
        fmt::format("resume: this run is finished, and of other data than {}", data.name));
  const Json* options_were = was.find("options");
  fields_beside(options, FitOptions{}, [&](const Field& field, const auto& value, const auto& usual) {
    if (!field.serialized || !field.affects_run || value == usual || options_were == nullptr)
      return;  // nobody asked
    const Json* before = options_were->find(field.json_key());
    if (differs(before, now.at(field.json_key())))
      throw std::invalid_argument(fmt::format("resume: this run is finished, and its {} was {}, not {}",
                                              field.name, before->dump(), now.at(field.json_key()).dump()));
  });
}

}  // namespace zeroloss
