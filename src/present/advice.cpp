#include "present/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "present/common.hpp"
#include "present/table.hpp"
#include "present/widths.hpp"
#include "zeroloss/present/loss.hpp"

namespace zeroloss::internal {
namespace {

const WidthRow* row_of(const CertifyResult& r, std::string_view id) {
  const auto found = std::ranges::find(r.widths, id, &WidthRow::id);
  return found != r.widths.end() && found->width ? &*found : nullptr;
}

std::string width_advice(const CertifyResult& r) {
  const std::string each = r.class_names.size() > 2 ? " for each class" : "";
  const WidthRow *any = row_of(r, "any_labels"), *few = row_of(r, "too_few");
  std::string said;
  if (any != nullptr)
    said = fmt::format("{} hidden units{} are proved to be enough for any labels{}: pairs of output scale {}",
                       whole(any->width), each, r.n_distinct < r.n ? ", equal on equal points" : "",
                       exact(any->output_scale));
  if (few != nullptr && few->width.value_or(0) > 1) {
    const std::size_t comma = few->about.find(", ");  // "almost all real labels, output weights fixed"
    said += fmt::format("{}fewer than {}{} can fit almost no labels{}", said.empty() ? "" : "; ",
                        whole(few->width), said.empty() ? " hidden units" + each : "",
                        comma == std::string::npos ? "" : fmt::format(" ({})", few->about.substr(comma + 2)));
  }
  if (any == nullptr && few != nullptr)
    said += (said.empty() ? "" : "; ") + std::string("the command width looks for how many are enough");
  return said;
}

std::string step_advice(const CertifyOptions& options, const CertifyResult& r) {
  std::string said;
  if (const WidthRow* any = row_of(r, "any_labels"); any != nullptr && any->step && any->steps)
    said = fmt::format("{} from these pairs: misfit {} within {} steps (proved)", exact(any->step),
                       options.accuracy, short_number(*any->steps, Rounding::up));
  if (r.forecast && std::isfinite(r.forecast->steps_to_accuracy))
    said += fmt::format("{}{:.3g} for a wide network: misfit {:.3g} after some {} steps (forecast)",
                        said.empty() ? "" : "; ", r.forecast->step, options.accuracy,
                        short_number(std::ceil(r.forecast->steps_to_accuracy)));
  return said;
}

std::string label_advice(const CertifyResult& r) {
  constexpr std::size_t kNamed = 5;
  if (!r.leave_one_out_error) return "";
  if (r.task == Task::regression && !accuses(r))
    return "cannot be judged: the other samples predict them no better than their mean does";
  if (r.suspects.empty()) return "none looks wrong";
  if (!accuses(r)) return "";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kNamed, r.suspects.size()); ++i)
    names.push_back(describe(r.suspects[i].sample));
  const std::size_t more = r.suspects.size() - names.size();
  // What lies beyond all others is known to none of them.
  const std::string edge = r.task != Task::regression ? ""
                           : r.suspects.size() == 1   ? ", or it lies at the edge of the data"
                                                      : ", or they lie at the edge of the data";
  return fmt::format("look at {} {}{}: the other samples predict {} otherwise{}",
                     r.suspects.size() == 1 ? "that of sample" : "those of samples", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", with_commas(static_cast<Index>(more))) : "",
                     r.suspects.size() == 1 ? "it" : "them", edge);
}

}  // namespace

std::string advice_text(const CertifyOptions& options, const CertifyResult& r) {
  if (!r.conflicts.empty()) return "";
  Facts line(8);
  for (const auto& [name, said] : {std::pair<const char*, std::string>{"width", width_advice(r)},
                                   {"step", step_advice(options, r)},
                                   {"loss", loss_and_step(r.task)},
                                   {"labels", label_advice(r)}})
    if (!said.empty()) line(name, said);
  return line.text();
}

}  // namespace zeroloss::internal
