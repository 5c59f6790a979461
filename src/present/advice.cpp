#include "present/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/percentage.hpp"
#include "present/common.hpp"
#include "present/table.hpp"
#include "present/widths.hpp"
#include "zeroloss/data/summary.hpp"
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
    said = fmt::format("{} hidden units{} are proved to fit any labels{}", whole(any->width), each,
                       r.n_distinct < r.n ? " that are equal on equal points" : "");
  if (few != nullptr && few->width.value_or(0) > 1) {
    const std::size_t comma = few->about.find(", ");  // "almost all real labels, output weights fixed"
    said += fmt::format("{}fewer than {}{} fit almost no labels{}", said.empty() ? "" : "; ",
                        whole(few->width), said.empty() ? " hidden units" + each : "",
                        comma == std::string::npos ? "" : fmt::format(" ({})", few->about.substr(comma + 2)));
  }
  if (any == nullptr && few != nullptr)
    said += (said.empty() ? "" : "; ") + std::string("the command width looks for how many are enough");
  return said;
}

std::string step_advice(const CertifyOptions& options, const CertifyResult& r) {
  if (!r.forecast || !std::isfinite(r.forecast->steps_to_accuracy)) return "";
  return fmt::format(
      "with steps of {:.3g} a wide network comes to misfit {:.3g} after some {} of them (forecast)",
      r.forecast->step, options.accuracy, short_number(std::ceil(r.forecast->steps_to_accuracy)));
}

std::string label_advice(const CertifyResult& r) {
  constexpr std::size_t kNamed = 5;
  if (!r.leave_one_out_error) return "";
  if (r.task == Task::regression && !accuses(r))
    return "cannot be judged: the other samples predict them no better than their mean does";
  if (r.suspects.empty()) return "the other samples predict each of them";
  if (!accuses(r)) return "";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kNamed, r.suspects.size()); ++i)
    names.push_back(describe(r.suspects[i].sample));
  const std::size_t more = r.suspects.size() - names.size();
  // What lies beyond all others is known to none of them.
  const char* edge = r.task == Task::regression ? "wrong, and which at the edge of the data" : "wrong";
  return fmt::format("hardest to predict: {} {}{}; audit says which labels are {}",
                     r.suspects.size() == 1 ? "sample" : "samples", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", with_commas(static_cast<Index>(more))) : "",
                     edge);
}

}  // namespace

std::string unseen_advice(const Dataset& data, double error, double guessing, const std::string& how) {
  const char* beside = error > guessing ? ": worse than " : "; by ";
  return data.task == Task::regression
             ? fmt::format("off by {:.3g} of the targets' spread by leave-one-out{}{}guessing the mean, 1",
                           error, how, beside)
             : fmt::format("{} wrong by leave-one-out{}{}guessing the most frequent class, {}",
                           percentage(error), how, beside, percentage(guessing));
}

std::string advice_text(const Dataset& data, const CertifyOptions& options, const CertifyResult& r) {
  if (!r.conflicts.empty()) return "";
  Facts line(8);
  std::string unseen;
  if (r.leave_one_out_error && !(data.task == Task::regression && data.y.maxCoeff() == data.y.minCoeff()))
    unseen = unseen_advice(
        data, *r.leave_one_out_error, guessing_error(data),
        r.ridge > 0 ? fmt::format(" with a ridge of {:.2g}, without which the kernel is singular", r.ridge)
                    : " at infinite width and zero loss");
  for (const auto& [name, said] :
       {std::pair<const char*, std::string>{"unseen", unseen},
        {"width", width_advice(r)},
        {"step", step_advice(options, r)},
        {"loss",
         loss_and_step(r.task) + fmt::format("; steps are counted to misfit {:.3g}", options.accuracy)},
        {"labels", label_advice(r)}})
    if (!said.empty()) line(name, said);
  return line.text();
}

}  // namespace zeroloss::internal
