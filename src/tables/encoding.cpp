#include <algorithm>
#include <array>

#include "base/field_json.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/tables/table.hpp"

namespace zeroloss {
namespace internal {

constexpr std::array kCells{CellKind::number,         CellKind::amount, CellKind::decimal_comma,
                            CellKind::truth,          CellKind::date,   CellKind::month_day_year,
                            CellKind::day_month_year, CellKind::time,   CellKind::text};

template <>
Json stored(const CellKind& cell) {
  return name(cell);
}

template <>
void restore(const Json& json, CellKind& cell) {
  const auto found =
      std::ranges::find(kCells, json.as<std::string>(), [](CellKind known) { return name(known); });
  if (found == kCells.end()) throw JsonError("an unknown kind of cell");
  cell = *found;
}

}  // namespace internal
using namespace internal;

std::string name(CellKind cell) {
  constexpr std::array names{"number",         "amount",         "decimal comma", "truth", "date",
                             "month day year", "day month year", "time",          "text"};
  return names[static_cast<std::size_t>(cell)];
}

bool is_date(CellKind cell) {
  return cell == CellKind::date || cell == CellKind::month_day_year || cell == CellKind::day_month_year;
}

std::string encoding_text(const Encoding& encoding) {
  return encoding.empty() ? "" : stored(encoding).dump();
}

Encoding read_encoding(const std::string& text) {
  Encoding encoding;
  if (text.empty()) return encoding;
  try {
    Json json = Json::parse(text);
    // Models of earlier versions.
    if (json.find("na_values") == nullptr) json["na_values"] = Json::array();
    if (json.find("joined") == nullptr) json["joined"] = false;
    Json inputs = Json::array();
    for (Json input : json.at("inputs").items()) {
      if (input.find("unit") == nullptr) input["unit"] = "";
      inputs.push_back(std::move(input));
    }
    json["inputs"] = std::move(inputs);
    restore(json, encoding);
  } catch (const JsonError& error) {
    throw DataError(std::string("columns of a model: ") + error.what());
  }
  return encoding;
}

}  // namespace zeroloss
