#include "sources/csv.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/choices.hpp"
#include "sources/source_kind.hpp"
#include "sources/table_source.hpp"
#include "tables/cells.hpp"
#include "tables/first_line.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace internal {
namespace {

/// The separator that occurs most in the first line, outside quotes.
char separator(std::string_view line) {
  constexpr std::string_view kSeparators = ",;\t|";
  std::size_t counts[kSeparators.size()] = {};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (const std::size_t k = kSeparators.find(c); k != std::string_view::npos && !quoted) ++counts[k];
  }
  return kSeparators[static_cast<std::size_t>(std::ranges::max_element(counts) - counts)];
}

constexpr char kBlanks = ' ';  ///< any number of blanks and tabs separate

/// The line with one tab for the blanks between its fields; in_quotes: whether it begins inside a quoted one.
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

/// Whether blanks separate: no other separator is in the first line, and blanks make as many fields of it as
/// of the second one, two or more.
bool blanks_separate(const Bytes& bytes) {
  ByteReader reader = bytes.open();
  std::string line;
  std::ptrdiff_t tabs = 0;
  while (reader.line(line)) {
    if (trimmed(line).empty()) continue;
    const bool first = tabs == 0;
    if (first && line.find_first_of(",;\t|") != std::string::npos) return false;
    const std::ptrdiff_t found = std::ranges::count(with_tabs(trimmed(line), false), '\t');
    if (found == 0 || (!first && found != tabs)) return false;
    if (!first) return true;
    tabs = found;
  }
  return false;
}

/// Collects what libcsv finds. `line` is where the current record starts.
class Records {
 public:
  Records(std::string name, std::optional<bool> header, bool may_count)
      : header_(header), may_count_(may_count && !header) {
    table_.name = std::move(name);
  }

  void field(std::string_view text) { fields_.emplace_back(trimmed(text)); }

  /// The first record waits for the second: what it is shows only beside it.
  void end_record() {
    if (first_.empty()) {
      first_ = std::move(fields_);
      first_line_ = line;
    } else {
      if (table_.columns.empty()) begin();
      add(fields_, line);
    }
    fields_.clear();
  }

  void end_file() {
    if (first_.empty()) return;
    if (table_.columns.empty()) begin();
    if (counts_)
      use_counts(*counts_, table_);
    else if (!header_ && !table_.header && names_texts(first_, table_))
      take_names(table_);
  }

  /// Whether the first line, taken for counts of what follows, was none.
  bool miscounted() const { return counts_ && counts_->n != table_.n(); }

  DataTable table(bool may_be_empty) && {
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
  std::size_t first_line_ = 0;
};

void Records::begin() {
  if (may_count_) counts_ = counts_in(first_, fields_);
  table_.header = header_ ? *header_ : !counts_ && names_columns(first_, fields_);
  if (table_.header) first_ = without_quotes(std::move(first_));
  for (std::size_t j = 0; j < (counts_ ? fields_ : first_).size(); ++j)
    table_.columns.push_back({.name = table_.header ? first_[j] : "", .place = static_cast<Index>(j)});
  if (!table_.header && !counts_) add(first_, first_line_);
}

void Records::add(const std::vector<std::string>& fields, std::size_t at) {
  if (fields.size() != table_.columns.size())
    throw DataError(fmt::format("{}: line {}: found {} fields, expected {} as {}", table_.name, at,
                                fields.size(), table_.columns.size(),
                                counts_ ? "the first line says" : "in the first line"));
  for (std::size_t j = 0; j < fields.size(); ++j) table_.columns[j].cells.add(fields[j]);
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

/// Finds records; returns the separator.
char parse(const Bytes& bytes, std::optional<char> separates, Records& records) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw BackendError("libcsv: csv_init failed");
  const std::unique_ptr<csv_parser, decltype(&csv_free)> cleanup(&parser, csv_free);
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
  std::string text;
  bool in_quotes = false;  // whether a quoted field goes on over the end of the line
  bool begun = false;
  for (std::size_t line = 1; reader.line(text); ++line) {
    std::string_view rest = text;
    if (line == 1 && rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
    if (line == 1 && (rest.starts_with("\xFF\xFE") || rest.starts_with("\xFE\xFF")))
      throw DataError(bytes.name + ": is UTF-16 text; expected UTF-8: iconv -f UTF-16 -t UTF-8 makes it so");
    if (rest.find('\0') != std::string_view::npos)
      throw DataError(fmt::format("{}: line {}: has a NUL byte, as binary data do; expected text in UTF-8",
                                  bytes.name, line));
    if (!begun && !trimmed(rest).empty()) {
      if (!separates) separates = separator(rest);
      csv_set_delim(&parser, static_cast<unsigned char>(*separates == kBlanks ? '\t' : *separates));
      begun = true;
    }
    std::string tabbed;
    if (separates == kBlanks) rest = tabbed = with_tabs(rest, in_quotes);
    if (!in_quotes) records.line = line;
    if (std::ranges::count(rest, '"') % 2 != 0) in_quotes = !in_quotes;
    check(csv_parse(&parser, rest.data(), rest.size(), on_field, on_record, &records) == rest.size());
  }
  check(csv_fini(&parser, on_field, on_record, &records) == 0);
  records.end_file();
  return separates.value_or(',');
}

}  // namespace

DataTable read_csv(const Bytes& bytes, const CsvForm& form) {
  const bool blanks = !form.separator && blanks_separate(bytes);
  const std::optional<char> known = blanks ? std::optional(kBlanks) : form.separator;
  const auto read = [&](Records& records) { return parse(bytes, known, records); };
  Records counted(bytes.name, form.header, true), plain(bytes.name, form.header, false);
  char separates = read(counted);
  const bool miscounted = counted.miscounted();
  if (miscounted) separates = read(plain);
  DataTable table = std::move(miscounted ? plain : counted).table(form.may_be_empty);
  table.comma_separates = separates == ',';
  if (blanks) table.remarks.emplace_back("columns: blanks separate them");
  take_as_missing(table, form.na_values);
  read_cells(table);
  return table;
}

SourceKind csv() {
  return {SourceKind::Is::file,
          "csv, csv.gz",
          "",
          [](const Asked& asked) {
            return asked.start == nullptr ? asked.ends_in(".csv .csv.gz .tsv .tsv.gz .data .data.gz")
                                          : asked.start->find('\0') == std::string::npos;
          },
          [](const std::string& path, const ReadOptions& options) {
            return source_of(read_csv(file_bytes(path), {.na_values = options.na_values}), options);
          },
          true};
}

}  // namespace internal

using namespace internal;

Source open_csv(std::string name, std::string csv, std::optional<bool> header, const ReadOptions& options) {
  check_choices("read_dataset", options);
  const std::string digest = sha256(csv);
  CsvForm form{.header = header, .na_values = options.na_values};
  if (header) form.separator = ',';
  Source source = source_of(read_csv(memory_bytes(name, std::move(csv)), form), options);
  source.name = std::move(name);
  source.digest = digest;
  return source;
}

}  // namespace zeroloss
