#include "present/widths.hpp"

#include <fmt/format.h>

#include "present/table.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {

bool of_a_theorem(const WidthRow& row) { return row.title == row.source; }

std::string whole(const std::optional<double>& width) {
  return width ? with_commas(static_cast<Index>(*width)) : "";
}

std::string exact(const std::optional<double>& value) { return value ? fmt::format("{:.3g}", *value) : ""; }

std::string width_table(const std::vector<WidthRow>& rows) {
  Table table({"", "width", "", "labels", "output scale", "step", "steps", ""});
  for (const WidthRow& row : rows)
    if (!of_a_theorem(row))
      table.add({row.title, whole(row.width), row.status, row.about, exact(row.output_scale), exact(row.step),
                 row.steps ? short_number(*row.steps, Rounding::up) : "", row.says});
  return table.rows() == 0 ? "" : table.text();
}

}  // namespace zeroloss::internal
