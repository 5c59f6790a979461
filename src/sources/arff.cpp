#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sources/text_formats.hpp"
#include "tables/cells.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

struct Attribute {
  std::string name, type;           ///< type in lower case; "" if values are listed
  std::vector<std::string> values;  ///< as listed
  std::string form{};               ///< of a date, as "dd/MM/yyyy HH:mm"
};

/// Takes words from a line: what stands in quotes, or up to a blank or one of `ends`. % begins a comment.
class ArffLine {
 public:
  ArffLine(std::string_view line, std::string where) : rest_(line), where_(std::move(where)) { skip(); }

  bool done() const { return rest_.empty() || rest_[0] == '%'; }
  bool at(char c) const { return !rest_.empty() && rest_[0] == c; }

  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    skip();
    return true;
  }

  void expect(char c) {
    if (!take(c)) throw DataError(fmt::format("{}: expected {} before '{}'", where_, c, excerpt(rest_)));
  }

  std::string word(std::string_view ends) {
    std::string text;
    if (at('\'') || at('"')) {
      const char quote = rest_[0];
      std::size_t i = 1;
      for (; i < rest_.size() && rest_[i] != quote; ++i) {
        if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
        text += rest_[i];
      }
      if (i == rest_.size()) throw DataError(where_ + ": a quote is not closed");
      rest_.remove_prefix(i + 1);
    } else {
      const std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
      text = trimmed(rest_.substr(0, end));
      rest_.remove_prefix(end);
    }
    skip();
    return text;
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  std::string_view rest_;
  std::string where_;
};

bool begins(std::string_view line, std::string_view word) {
  return lowered(line.substr(0, word.size())) == word;
}

Attribute attribute_in(std::string_view line, const std::string& where) {
  ArffLine words(line.substr(std::string_view("@attribute").size()), where);
  Attribute attribute{words.word(" \t{"), {}, {}};
  if (!words.take('{')) {
    attribute.type = lowered(words.word(" \t%"));
    const bool known = attribute.type == "numeric" || attribute.type == "real" ||
                       attribute.type == "integer" || attribute.type == "string" || attribute.type == "date";
    if (!known)
      throw DataError(fmt::format("{}: attribute '{}' of type '{}'; expected numeric, string, date or a list",
                                  where, excerpt(attribute.name), excerpt(attribute.type)));
    if (attribute.type == "date" && !words.done()) attribute.form = words.word(" \t%");
    return attribute;
  }
  while (!words.take('}')) {
    attribute.values.push_back(words.word(",}"));
    if (!words.at('}')) words.expect(',');
  }
  return attribute;
}

/// The cells of a record: "1,red,?", or "{0 1, 3 red}", where 0 and first values are not written.
std::vector<std::string> cells_in(std::string_view line, const std::vector<Attribute>& attributes,
                                  const std::string& where) {
  ArffLine words(line, where);
  std::vector<std::string> cells;
  if (!words.take('{')) {
    do {
      cells.push_back(words.word(",%"));
    } while (words.take(','));
    if (!words.done() || cells.size() != attributes.size())
      throw DataError(fmt::format("{}: found {} cells, expected {}", where, cells.size(), attributes.size()));
    return cells;
  }
  for (const Attribute& attribute : attributes)
    cells.push_back(attribute.values.empty() ? "0" : attribute.values.front());
  while (!words.take('}')) {
    const auto place = parsed_integer<Index>(words.word(" \t"));
    if (!place || *place < 0 || *place >= std::ssize(attributes))
      throw DataError(
          fmt::format("{}: expected the number of an attribute, 0 to {}", where, std::ssize(attributes) - 1));
    cells[static_cast<std::size_t>(*place)] = words.word(",}");
    if (!words.at('}')) words.expect(',');
  }
  return cells;
}

/// A date as 2020-01-31 13:59:59 by the form that its attribute has, whose letters stand for as many digits.
std::string iso_date(const std::string& cell, const std::string& form, const std::string& where) {
  if (form.empty() || cell == "?") return cell;
  std::map<char, std::string> parts;
  bool fits = cell.size() == form.size();
  for (std::size_t i = 0; i < form.size() && fits; ++i)
    if (std::string_view("yMdHms").find(form[i]) != std::string_view::npos)
      parts[form[i]] += cell[i];
    else
      fits = form[i] == cell[i];
  const auto part = [&](char letter, const char* usual) {
    return parts.contains(letter) ? parts[letter] : usual;
  };
  fits = fits && part('y', "").size() == 4 && part('M', "01").size() == 2 && part('d', "01").size() == 2;
  const std::string iso = fmt::format("{}-{}-{} {}:{}:{}", part('y', ""), part('M', "01"), part('d', "01"),
                                      part('H', "00"), part('m', "00"), part('s', "00"));
  if (!fits || !value_of(iso, CellKind::date))
    throw DataError(
        fmt::format("{}: found '{}', expected a date as '{}', of digits for each of its letters yMdHms",
                    where, excerpt(cell), excerpt(form)));
  return iso;
}

}  // namespace

bool is_arff(const std::vector<std::string>& first_lines) {
  for (const std::string& line : first_lines)
    if (!line.starts_with('%')) return begins(line, "@relation");
  return false;
}

DataTable read_arff(const Bytes& bytes) {
  DataTable table;
  table.name = bytes.name;
  table.header = true;
  std::vector<Attribute> attributes;
  bool data = false;
  ByteReader reader = bytes.open();
  std::string text;
  for (Index number = 1; reader.line(text); ++number) {
    const std::string converted = utf8(trimmed(text));
    const std::string_view line = converted;
    const std::string where = fmt::format("{}: line {}", bytes.name, number);
    if (line.empty() || line.starts_with('%') || begins(line, "@relation")) continue;
    if (!data && begins(line, "@attribute")) {
      attributes.push_back(attribute_in(line, where));
      Column column{.name = attributes.back().name, .place = std::ssize(table.columns)};
      column.categories = !attributes.back().values.empty() || attributes.back().type == "string";
      table.columns.push_back(std::move(column));
    } else if (!data && begins(line, "@data") && !attributes.empty()) {
      data = true;
    } else if (!data) {
      throw DataError(fmt::format("{}: '{}'; expected @attribute or @data", where, excerpt(line)));
    } else {
      const std::vector<std::string> cells = cells_in(line, attributes, where);
      for (std::size_t j = 0; j < cells.size(); ++j)
        table.columns[j].cells.add(iso_date(cells[j], attributes[j].form, where));
      table.lines.push_back(number);
    }
  }
  if (table.n() == 0) throw DataError(bytes.name + ": has no records behind @data");
  return table;
}

}  // namespace zeroloss::internal
