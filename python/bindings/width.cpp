#include "zeroloss/present/width.hpp"

#include "bindings.hpp"

namespace zeroloss::python {
namespace {

using Widths = Answer<WidthResult, On<DatasetAsRead, WidthOptions>>;

}  // namespace

void bind_width(nb::module_& m) {
  bind_options<WidthOptions>(m, "WidthOptions");
  bind_result<DrawnWidth>(m, "DrawnWidth", "Networks of pairs at one width.");
  bind_result<MeasuredWidth>(m, "MeasuredWidth", "A width at which Gauss-Newton was tried.");

  nb::class_<Widths> answer(m, "WidthResult", "How wide a network has to be. print() shows all of it.");
  bind_fields<WidthResult>(answer);
  add_output<Widths>(
      answer, [](const Widths& a) { return width_text(*a.options.data, a.options.settings, a); },
      [](const Widths& a) { return width_json(*a.options.data, a.options.settings, a); },
      [](RunFolder& folder, const Widths& a) {
        write_width(folder, *a.options.data, a.options.data->read, a.options.settings, a, {a.call});
      },
      of_its_loss<Widths>);

  add_pickles(answer);

  m.def(
      "width",
      [](const std::shared_ptr<DatasetAsRead>& data, const WidthOptions& options, const std::string& call,
         const nb::object& progress) {
        auto result = value_of_work(progress, [&](Progress& p) { return width(*data, options, p); });
        return Widths(std::move(result), {data, options}, call);
      },
      "data"_a, "options"_a, "call"_a, "progress"_a.none());
}

}  // namespace zeroloss::python
