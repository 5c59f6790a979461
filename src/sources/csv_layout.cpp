#include "sources/csv_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tables/cells.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

constexpr std::string_view kSeparators = ",;\t|";

struct Line {
  std::string text;
  Index number = 0;  ///< in the file, from 0
};

/// The first lines that are not blank.
std::vector<Line> first_lines(const Bytes& bytes, Index skip) {
  constexpr std::size_t kLooked = 50;
  std::vector<Line> lines;
  ByteReader reader = bytes.open();
  std::string text;
  for (Index number = 0; lines.size() < kLooked && reader.line(text); ++number)
    if (number >= skip && !trimmed(without_mark(text)).empty())
      lines.push_back({std::string(trimmed(without_mark(text))), number});
  return lines;
}

/// How often a character occurs outside quotes.
Index count_outside(std::string_view line, char wanted) {
  Index found = 0;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == wanted && !quoted) ++found;
  }
  return found;
}

/// The separator that occurs most in a line.
char most_frequent(std::string_view line) {
  return *std::ranges::max_element(kSeparators, {}, [&](char c) { return count_outside(line, c); });
}

/// The count that most lines have, and how many do.
struct Usual {
  Index count = 0, lines = 0;
};
Usual usual_count(const std::vector<Line>& lines, char separator) {
  std::map<Index, Index> times;
  for (const Line& line : lines) ++times[count_outside(line.text, separator)];
  const auto most = std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
  return most == times.end() ? Usual{} : Usual{most->first, most->second};
}

bool is_number(std::string_view cell) {
  return value_of(cell, CellKind::number) || value_of(cell, CellKind::amount) ||
         value_of(cell, CellKind::decimal_comma) || value_of(cell, CellKind::date);
}

/// Whether a line has one word and for the rest empty cells, of three or more.
bool is_padded_title(std::string_view line, char separator) {
  Index cells = 1, filled = 0;
  bool quoted = false, number = false;
  std::string cell;
  const auto end = [&] {
    const std::string_view text = trimmed(cell);
    if (!text.empty()) ++filled;
    number |= is_number(text);
    cell.clear();
  };
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == separator && !quoted) {
      end();
      ++cells;
    } else {
      cell += c;
    }
  }
  end();
  return cells > 2 && filled <= 1 && !number;
}

/// Excel's first line, which says what separates the others.
std::optional<char> said_separator(std::string_view line) {
  if (line.size() == 6 && line.front() == '"' && line.back() == '"') line = line.substr(1, 4);
  if (line.size() == 5 && line.starts_with("sep=")) return line[4];
  return line == "sep=" ? std::optional('\t') : std::nullopt;  // trimmed
}

bool is_comment(std::string_view line) {
  return line.starts_with('#') || (line.starts_with('|') && count_outside(line, '|') == 1);
}

/// Whether all cells are numbers when blanks separate them, of three or more.
bool is_row_of_numbers(std::string_view text) {
  const auto words = words_of(text);
  return words.size() > 2 && std::ranges::all_of(words, [](std::string_view word) {
           return is_missing(word) || value_of(word, CellKind::number);
         });
}

/// Whether blanks separate: no other separator is in the first line, and blanks make as many fields of it as
/// of the second one, two or more; or tabs stand behind rows of numbers with blanks between.
bool blanks_separate(const std::vector<Line>& lines) {
  if (lines.size() < 2) return false;
  const auto blanks = [](const Line& line) { return std::ranges::count(with_tabs(line.text, false), '\t'); };
  const std::ptrdiff_t first = blanks(lines[0]);
  if (lines[0].text.find_first_of(kSeparators) == std::string::npos)
    return first > 0 && (blanks(lines[1]) == first ||  // or R's names, of which the first column has none
                         std::all_of(lines.begin() + 1, lines.end(),
                                     [&](const Line& line) { return blanks(line) == first + 1; }));
  return std::ranges::all_of(lines, [&](const Line& line) {
    return blanks(line) == first && line.text.find_first_of(",;|") == std::string::npos &&
           is_row_of_numbers(line.text.substr(0, line.text.find('\t')));
  });
}

/// The place of the first line that is no title. Where titles stand first, they do not say what separates.
std::size_t behind_titles(const std::vector<Line>& lines, std::size_t from, std::optional<char>& separator) {
  const std::vector<Line> rest(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.end());
  char found = separator.value_or(most_frequent(rest.front().text));
  Usual usual = usual_count(rest, found);
  if (!separator && count_outside(rest.front().text, found) != usual.count)
    for (const char c : kSeparators)
      if (const Usual other = usual_count(rest, c);
          other.count > 0 && (usual.count == 0 || other.lines > usual.lines)) {
        found = c;
        usual = other;
      }
  if (usual.count == 0 || 2 * usual.lines < std::ssize(rest)) return from;
  const auto is_title = [&](const Line& line) {
    const Index count = count_outside(line.text, found);
    return std::ranges::count(line.text, '"') % 2 == 0 &&
           (2 * (count + 1) <= usual.count + 1 ||
            (count == usual.count && is_padded_title(line.text, found)));
  };
  const auto titles = std::ranges::find_if_not(rest, is_title) - rest.begin();
  if (titles == 0 || std::ssize(rest) - titles < 2) return from;
  separator = found;
  return from + static_cast<std::size_t>(titles);
}

/// Whether a comment is the names of the columns, as NumPy and gnuplot write them: as many as there are cells
/// in the line below.
bool is_names(std::string_view comment, std::string_view below, char separator) {
  const auto first = comment.find_first_not_of("# \t");
  if (!comment.starts_with('#') || first == std::string_view::npos) return false;
  const std::string_view names = comment.substr(first);
  if (is_number(trimmed(
          names.substr(0, names.find_first_of(separator == kBlanks ? " \t" : std::string(1, separator))))))
    return false;
  if (separator == kBlanks) return comment[1] == ' ' && words_of(names).size() == words_of(below).size();
  const Index count = count_outside(names, separator);
  return count > 0 && count == count_outside(below, separator);
}

}  // namespace

std::string with_tabs(std::string_view line, bool in_quotes) {
  std::string text;
  bool apart = false;
  for (const char c : line) {
    if (!in_quotes && (c == ' ' || c == '\t')) {
      apart = !text.empty();
      continue;
    }
    if (apart && c != '\r' && c != '\n') text += '\t';
    apart = false;
    if (c == '"') in_quotes = !in_quotes;
    text += c;
  }
  return text;
}

std::string_view without_mark(std::string_view line) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  return line;
}

CsvLayout layout_of(const Bytes& bytes, std::optional<char> separator, std::optional<Index> skip) {
  CsvLayout layout;
  layout.skip = skip.value_or(0);
  const std::vector<Line> lines = first_lines(bytes, layout.skip);
  std::size_t at = 0;
  bool said = false;
  if (!skip && !lines.empty())
    if (const auto found = said_separator(lines[0].text)) {
      separator = separator.value_or(*found);
      said = true;
      at = 1;
    }
  const std::size_t begin = at;
  while (!skip && at < lines.size() && is_comment(lines[at].text)) ++at;
  const std::size_t comments = at - begin;
  if (at == lines.size()) return {.separator = separator.value_or(','), .skip = layout.skip};
  if (!skip) at = behind_titles(lines, at, separator);
  const std::vector<Line> table(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end());
  if (!separator && blanks_separate(table)) separator = kBlanks;
  layout.separator = separator.value_or(most_frequent(table[0].text));
  if (comments > 0 && at == begin + comments &&
      is_names(lines[at - 1].text, table[0].text, layout.separator)) {
    --at;
    layout.commented = lines[at].text.starts_with("# ");
  }
  if (skip) return layout;
  layout.skip = lines[at].number;
  if (at > begin)
    layout.remark = fmt::format("above the table: {} not read ('{}'{}); `skip` says how many",
                                count(static_cast<Index>(at - begin), "line", "lines"),
                                excerpt(lines[begin].text), at - begin > 1 ? ", .." : "");
  else if (said)
    layout.skip = lines[begin].number;
  return layout;
}

}  // namespace zeroloss::internal
