#include "sources/csv.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sources/csv_layout.hpp"
#include "tables/cells.hpp"
#include "tables/first_line.hpp"
#include "tables/framing.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

/// Whether no two cells are the same and some are words: numbers may be what a decimal comma has split.
bool are_row_names(const Column& column) {
  std::set<std::string_view> seen;
  bool words = false;
  for (Index i = 0; i < column.cells.size(); ++i) {
    if (!seen.insert(column.cells[i]).second) return false;
    words |= !number_of(column.cells[i]);
  }
  return words;
}

/// Collects what libcsv finds. `line` is where the current record starts.
class Records {
 public:
  Records(std::string name, const CsvForm& form, bool may_count)
      : header_(form.header), may_count_(may_count && !form.header), left_out_(form.skip_end.value_or(0)) {
    table_.name = std::move(name);
  }

  void field(std::string_view text) { fields_.emplace_back(trimmed(text)); }

  /// The last records wait, as many as are to be left out.
  void end_record() {
    waiting_.push_back({std::move(fields_), line});
    fields_.clear();
    if (std::ssize(waiting_) <= left_out_) return;
    std::tie(fields_, at_) = std::move(waiting_.front());
    waiting_.pop_front();
    take_record();
  }

  /// The first record waits for the second: what it is shows only beside it.
  void take_record() {
    if (first_.empty()) {
      first_ = std::move(fields_);
      first_line_ = at_;
    } else {
      if (table_.columns.empty()) begin();
      add(fields_, at_);
    }
    fields_.clear();
  }

  void end_file() {
    if (left_out_ > 0 && std::ssize(waiting_) == left_out_ && !first_.empty())
      table_.remarks.push_back(fmt::format("left out: {} at the end", count(left_out_, "record", "records")));
    if (first_.empty()) return;
    if (table_.columns.empty()) begin();
    if (!note_.empty())
      table_.remarks.push_back(fmt::format("left out: line {}, a note ('{}'); `skip_end` says how many",
                                           note_line_, excerpt(note_)));
    if (named_rows_ && !are_row_names(table_.columns[0]))
      throw ragged(table_.columns.size(), first_line_ + 1);
    if (counts_)
      use_counts(*counts_, table_);
    else if (!header_ && !table_.header && names_texts(first_, table_))
      take_names(table_);
  }

  /// Whether the first line, taken for counts of what follows, was none.
  bool miscounted() const { return counts_ && counts_->n != table_.n(); }

  DataTable table(bool may_be_empty) && {
    if (trailing_ > 0)
      table_.remarks.push_back(fmt::format("left out: the empty field behind the last column of {}",
                                           count(trailing_, "record", "records")));
    if (comments_ > 0)
      table_.remarks.push_back(
          fmt::format("left out: {} beginning with #", count(comments_, "line", "lines")));
    if (table_.columns.empty()) throw DataError(table_.name + ": is empty; expected a table");
    if (table_.n() == 0 && !may_be_empty) throw DataError(table_.name + ": has a header line but no records");
    return std::move(table_);
  }

  std::size_t line = 0;
  std::exception_ptr failure;  ///< exceptions must not pass through libcsv

 private:
  void begin();
  void add(const std::vector<std::string>& fields, std::size_t at);

  DataTable table_;
  std::optional<bool> header_;
  bool may_count_;
  std::optional<Counts> counts_;
  std::vector<std::string> fields_, first_;
  std::size_t first_line_ = 0, at_ = 0;
  Index trailing_ = 0, comments_ = 0;
  Index left_out_ = 0;  ///< records at the end
  std::deque<std::pair<std::vector<std::string>, std::size_t>> waiting_;
  std::string note_;  ///< a line of one cell, which may only be the last
  std::size_t note_line_ = 0;
  bool named_rows_ = false;  ///< R's: the first column has no name

  DataError ragged(std::size_t found, std::size_t at) const {
    return DataError(
        fmt::format("{}: line {}: found {} fields, expected {} as {}; `skip` leaves out lines above the "
                    "table, `skip_end` those at its end",
                    table_.name, at, found, table_.columns.size() - (named_rows_ ? 1 : 0),
                    counts_ ? "the first line says" : "in the first line"));
  }
};

void Records::begin() {
  if (may_count_) counts_ = counts_in(first_, fields_);
  const bool counting = !header_ && counts_columns(first_, fields_);
  if (counting) {
    counts_.reset();
    table_.remarks.emplace_back(
        "names: 0, 1, .. as pandas calls columns; `header=no` takes them for a record");
  }
  table_.header = header_ ? *header_ : counting || (!counts_ && names_columns(first_, fields_));
  if (table_.header) first_ = without_quotes(std::move(first_));
  if (table_.header && fields_.size() == first_.size() + 1 && !fields_.back().empty()) {
    first_.insert(first_.begin(), "");
    named_rows_ = true;
    table_.remarks.emplace_back("columns: one more than names, as R writes them: the first has none");
  }
  for (std::size_t j = 0; j < (counts_ ? fields_ : first_).size(); ++j)
    table_.columns.push_back({.name = table_.header ? first_[j] : "", .place = static_cast<Index>(j)});
  if (!table_.header && !counts_) add(first_, first_line_);
}

void Records::add(const std::vector<std::string>& fields, std::size_t at) {
  const std::size_t expected = table_.columns.size();
  if (!note_.empty()) throw ragged(1, note_line_);
  if (fields.size() == expected + 1 && fields.back().empty()) {
    ++trailing_;
  } else if (fields.size() != expected) {
    if (fields.front().starts_with('#')) {
      ++comments_;
      return;
    }
    // A sentence below the table, unless it was cut off in the middle of a record.
    if (fields.size() > 1 || expected < 3 || table_.lines.empty() || fields[0].find(' ') == std::string::npos)
      throw ragged(fields.size(), at);
    note_ = fields[0];
    note_line_ = at;
    return;
  }
  for (std::size_t j = 0; j < expected; ++j) table_.columns[j].cells.add(fields[j]);
  table_.lines.push_back(static_cast<Index>(at));
}

template <class Call>
void guarded(void* records, Call call) {
  auto& target = *static_cast<Records*>(records);
  if (target.failure) return;
  try {
    call(target);
  } catch (...) {
    target.failure = std::current_exception();
  }
}

void on_field(void* text, std::size_t count, void* records) {
  guarded(records, [&](Records& to) { to.field({static_cast<const char*>(text), count}); });
}

void on_record(int, void* records) {
  guarded(records, [](Records& to) { to.end_record(); });
}

/// Lines that are no UTF-8.
struct OtherLines {
  Index count = 0;
  std::size_t first = 0;  ///< from 1
};

OtherLines parse(const Bytes& bytes, const CsvLayout& layout, Records& records) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw BackendError("libcsv: csv_init failed");
  const std::unique_ptr<csv_parser, decltype(&csv_free)> cleanup(&parser, csv_free);
  csv_set_delim(&parser, static_cast<unsigned char>(layout.separator == kBlanks ? '\t' : layout.separator));
  const auto check = [&](bool parsed) {
    if (records.failure) std::rethrow_exception(records.failure);
    if (parsed) return;
    throw DataError(
        fmt::format("{}: line {}: {}; expected quotes around a whole field, \"\" for a quote inside it",
                    bytes.name, records.line,
                    csv_error(&parser) == CSV_EPARSE ? "a quote is out of place or not closed"
                                                     : csv_strerror(csv_error(&parser))));
  };
  ByteReader reader = bytes.open();
  OtherLines other;
  std::string text, as_utf8, tabbed;
  bool in_quotes = false;  // whether a quoted field goes on over the end of the line
  for (std::size_t line = 1; reader.line(text); ++line) {
    if (line <= static_cast<std::size_t>(layout.skip)) continue;
    std::string_view rest = line == 1 ? without_mark(text) : text;
    if (rest.find('\0') != std::string_view::npos)
      throw DataError(fmt::format(
          "{}: line {}: has a NUL byte, as binary data do{}; expected text in UTF-8", bytes.name, line,
          rest.size() > 1 && (rest[0] == '\0' || rest[1] == '\0')
              ? ", and UTF-16 without its mark: iconv -f UTF-16LE or UTF-16BE converts it"
              : ""));
    if (layout.commented && line == static_cast<std::size_t>(layout.skip) + 1) rest.remove_prefix(2);
    if (!is_utf8(rest)) {
      if (++other.count == 1) other.first = line;
      rest = as_utf8 = utf8(rest);
    }
    if (layout.separator == kBlanks) rest = tabbed = with_tabs(rest, in_quotes);
    if (!in_quotes) records.line = line;
    if (std::ranges::count(rest, '"') % 2 != 0) in_quotes = !in_quotes;
    check(csv_parse(&parser, rest.data(), rest.size(), on_field, on_record, &records) == rest.size());
  }
  check(csv_fini(&parser, on_field, on_record, &records) == 0);
  records.end_file();
  return other;
}

}  // namespace

DataTable read_csv(const Bytes& bytes, const CsvForm& form) {
  const CsvLayout layout = layout_of(bytes, form.separator, form.skip, form.header.has_value());
  Records counted(bytes.name, form, true), plain(bytes.name, form, false);
  const OtherLines other = parse(bytes, layout, counted);
  const bool miscounted = counted.miscounted();
  if (miscounted) parse(bytes, layout, plain);
  DataTable table = std::move(miscounted ? plain : counted).table(form.may_be_empty);
  table.comma_separates = layout.separator == ',';
  table.decimal = form.decimal;
  std::vector<std::string> remarks;
  if (!layout.remark.empty()) remarks.push_back(layout.remark);
  if (other.count > 0)
    remarks.push_back(fmt::format("text: {} no UTF-8 and read as Latin-1, line {} the first",
                                  other.count == 1 ? "1 line is" : with_commas(other.count) + " lines are",
                                  other.first));
  if (layout.separator == kBlanks && !form.separator) remarks.emplace_back("columns: blanks separate them");
  table.remarks.insert(table.remarks.begin(), remarks.begin(), remarks.end());
  take_as_missing(table, form.na_values);
  if (!form.exact)
    leave_out_framing(table, {.units = !form.skip && form.header.value_or(true),
                              .names = !form.skip && !form.header,
                              .totals = !form.skip_end});
  read_cells(table);
  return table;
}

}  // namespace zeroloss::internal
