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
  std::string text;  ///< without its end; several lines where quotes go on over it
  Index number = 0;  ///< in the file, from 0
};

std::string_view without_end(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The first lines that are not blank. Comments do not count.
std::vector<Line> first_lines(const Bytes& bytes, Index skip) {
  constexpr Index kLooked = 50, kComments = 10'000;
  constexpr std::size_t kLongest = 1 << 16;  // of a cell that goes on over lines
  std::vector<Line> lines;
  ByteReader reader = bytes.open();
  std::string text;
  bool quoted = false;
  Index counted = 0;
  for (Index number = 0; counted < kLooked && number < kComments && reader.line(text); ++number) {
    if (number < skip) continue;
    const std::string_view line = without_end(without_mark(text));
    const bool goes_on = quoted && lines.back().text.size() < kLongest;
    if (std::ranges::count(line, '"') % 2 != 0) quoted = !quoted;
    if (goes_on) {
      lines.back().text += '\n';
      lines.back().text += line;
    } else if (!trimmed(line).empty()) {
      lines.push_back({std::string(line), number});
      if (!line.starts_with('#')) ++counted;
    }
  }
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

std::vector<std::string> cells_of(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == separator && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  for (std::string& cell : cells) cell = std::string(trimmed(cell));
  return cells;
}

/// Whether a line is words, at least two, and empty cells.
bool is_all_words(std::string_view line, char separator) {
  const auto cells = cells_of(line, separator);
  const auto filled = std::ranges::count_if(cells, [](const std::string& cell) { return !cell.empty(); });
  return filled > 1 && std::ranges::none_of(cells, is_quantity);
}

/// Whether a line has one word, in its first cell, and for the rest empty cells, of three or more; or nothing
/// but empty cells.
bool is_padded_title(std::string_view line, char separator) {
  const auto cells = cells_of(line, separator);
  return cells.size() > 2 && !is_quantity(cells[0]) &&
         std::all_of(cells.begin() + 1, cells.end(), [](const std::string& cell) { return cell.empty(); });
}

/// Excel's first line, which says what separates the others.
std::optional<char> said_separator(std::string_view line) {
  if (line.size() == 7 && line.front() == '"' && line.back() == '"') line = line.substr(1, 5);
  return line.size() == 5 && line.starts_with("sep=") ? std::optional(line[4]) : std::nullopt;
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
  const auto blanks = [](const Line& line) {
    return std::ranges::count(with_tabs(trimmed(line.text), false), '\t');
  };
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

std::vector<Line> from(const std::vector<Line>& lines, std::size_t at) {
  return {lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end()};
}

/// The place of the first line that is no title. Where titles stand first, they do not say what separates.
/// A title has at most half as many cells as most lines, which have three or more, and does not begin with a
/// number; or it is padded with empty cells above a line of words (`padded`: whether that may be).
std::size_t behind_titles(const std::vector<Line>& lines, std::size_t at, bool padded,
                          std::optional<char>& separator) {
  const std::vector<Line> rest = from(lines, at);
  char found = separator.value_or(most_frequent(rest.front().text));
  Usual usual = usual_count(rest, found);
  const Index of_first = count_outside(rest.front().text, found);
  if (!separator && (of_first == 0 || of_first != usual.count))
    for (const char c : kSeparators)
      if (const Usual other = usual_count(rest, c);
          other.count > 0 && (usual.count == 0 || other.lines > usual.lines)) {
        found = c;
        usual = other;
      }
  if (usual.count < 2 || 2 * usual.lines < std::ssize(rest)) return at;
  const auto is_short = [&](const Line& line) {
    return 2 * (count_outside(line.text, found) + 1) <= usual.count + 1 &&
           !is_quantity(cells_of(line.text, found)[0]);
  };
  const auto is_padded = [&](const Line& line) {
    return padded && count_outside(line.text, found) == usual.count && is_padded_title(line.text, found);
  };
  const auto table =
      std::ranges::find_if_not(rest, [&](const Line& line) { return is_short(line) || is_padded(line); });
  if (table == rest.begin() || rest.end() - table < 2) return at;
  if (std::any_of(rest.begin(), table, is_padded) && !is_all_words(table->text, found)) return at;
  separator = found;
  return at + static_cast<std::size_t>(table - rest.begin());
}

/// Lines that begin with #, or UCI's one line that begins with a bar, above lines that have another number of
/// cells.
std::size_t behind_comments(const std::vector<Line>& lines, std::size_t at, std::optional<char> separator) {
  if (lines[at].text.starts_with('|') && at + 1 < lines.size())
    return lines[at + 1].text.find('|') == std::string::npos ? at + 1 : at;
  std::size_t end = at;
  while (end < lines.size() && lines[end].text.starts_with('#')) ++end;
  if (end == at || end == lines.size()) return at;
  const std::vector<Line> table = from(lines, end);
  const bool blanks = !separator && blanks_separate(table);
  const char c = separator.value_or(most_frequent(table[0].text));
  const Index cells = count_outside(table[0].text, c);
  const auto alike = [&](const Line& line) {
    return !blanks && cells > 0 && count_outside(line.text, c) == cells;
  };
  const auto records = std::count_if(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                     lines.begin() + static_cast<std::ptrdiff_t>(end), alike);
  return records > 1 ? at : end;  // several are records, one may be the names
}

/// Whether a comment is the names of the columns: as many as there are cells in the line below. 1: with the
/// # among them, as pandas' index; 2: behind "# ", as NumPy and gnuplot write them.
int is_names(const std::string& comment, const std::string& below, char separator) {
  if (!comment.starts_with('#')) return 0;
  const std::string_view behind = std::string_view(comment).substr(1);
  if (separator == kBlanks) {
    const auto cells = words_of(below).size();
    return words_of(comment).size() == cells && comment.starts_with("# ")          ? 1
           : words_of(behind).size() == cells && !is_quantity(words_of(behind)[0]) ? 2
                                                                                   : 0;
  }
  if (count_outside(comment, separator) == 0 ||
      count_outside(comment, separator) != count_outside(below, separator))
    return 0;
  const std::string first = cells_of(behind, separator)[0];
  return comment.starts_with("# ") && !first.empty() && !is_quantity(first) ? 2 : 1;
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

CsvLayout layout_of(const Bytes& bytes, std::optional<char> separator, std::optional<Index> skip,
                    bool header_known) {
  CsvLayout layout;
  layout.skip = skip.value_or(0);
  const std::vector<Line> lines = first_lines(bytes, layout.skip);
  if (lines.empty()) return {.separator = separator.value_or(','), .skip = layout.skip};
  std::size_t at = 0, begin = 0;
  if (!skip) {
    if (const auto said = said_separator(lines[0].text); said && lines.size() > 1) {
      separator = separator.value_or(*said);
      begin = at = 1;
    }
    at = behind_comments(lines, at, separator);
    const std::size_t comments = at;
    at = behind_titles(lines, at, !header_known, separator);
    const std::vector<Line> table = from(lines, at);
    if (!separator && blanks_separate(table)) separator = kBlanks;
    layout.separator = separator.value_or(most_frequent(table[0].text));
    if (at > begin && at == comments)
      if (const int names = is_names(lines[at - 1].text, table[0].text, layout.separator)) {
        --at;
        layout.commented = names == 2;
      }
    layout.skip = lines[at].number;
    if (at > begin)
      layout.remark = fmt::format("above the table: {} not read ('{}'{}); `skip` says how many",
                                  count(static_cast<Index>(at - begin), "line", "lines"),
                                  excerpt(lines[begin].text), at - begin > 1 ? ", .." : "");
    return layout;
  }
  if (!separator && blanks_separate(lines)) separator = kBlanks;
  layout.separator = separator.value_or(most_frequent(lines[0].text));
  return layout;
}

}  // namespace zeroloss::internal
