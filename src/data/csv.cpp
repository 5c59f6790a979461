#include "data/csv.hpp"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "data/cells.hpp"
#include "data/source_kind.hpp"
#include "data/table_source.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss::internal {
namespace {

/// The separator that occurs most in the first line, outside quotes.
char separator(std::string_view line) {
  constexpr std::string_view kSeparators = ",;\t";
  std::size_t counts[kSeparators.size()] = {};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (const std::size_t k = kSeparators.find(c); k != std::string_view::npos && !quoted) ++counts[k];
  }
  return kSeparators[static_cast<std::size_t>(std::ranges::max_element(counts) - counts)];
}

/// Collects what libcsv finds. `line` is where the current record starts.
class Records {
 public:
  explicit Records(std::string name) { table_.name = std::move(name); }

  void field(std::string_view text) { fields_.emplace_back(trimmed(text)); }

  /// The first record waits for the second: whether it is a header shows only beside it.
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
    if (!first_.empty() && table_.columns.empty()) begin();
  }

  DataTable table() && {
    if (table_.columns.empty()) throw DataError(table_.name + ": is empty; expected a table");
    if (table_.n() == 0) throw DataError(table_.name + ": has a header line but no records");
    return std::move(table_);
  }

  std::size_t line = 0;
  std::exception_ptr failure;  ///< exceptions must not pass through libcsv

 private:
  void begin();
  void add(const std::vector<std::string>& fields, std::size_t at);

  DataTable table_;
  std::vector<std::string> fields_, first_;
  std::size_t first_line_ = 0;
};

// A header is a first record with text where the second has a number, or, where it stands alone, with any
// text: so the first record of a file without a header is not lost because its class is a word.
void Records::begin() {
  const auto text = [](const std::string& field) { return !number_of(field) && !is_missing(field); };
  const bool alone = fields_.empty();
  for (std::size_t j = 0; j < first_.size(); ++j)
    table_.header |= text(first_[j]) && (alone || j >= fields_.size() || !text(fields_[j]));
  for (std::size_t j = 0; j < first_.size(); ++j)
    table_.columns.push_back({.name = table_.header ? first_[j] : "", .place = static_cast<Index>(j)});
  if (!table_.header) add(first_, first_line_);
}

void Records::add(const std::vector<std::string>& fields, std::size_t at) {
  if (fields.size() != table_.columns.size())
    throw DataError(fmt::format("{}: line {}: found {} fields, expected {} as in the first line", table_.name,
                                at, fields.size(), table_.columns.size()));
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

}  // namespace

DataTable read_csv(const Bytes& bytes) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw BackendError("libcsv: csv_init failed");
  const std::unique_ptr<csv_parser, decltype(&csv_free)> cleanup(&parser, csv_free);
  Records records(bytes.name);
  char separates = ',';
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
  bool separator_known = false;
  for (std::size_t line = 1; reader.line(text); ++line) {
    std::string_view rest = text;
    if (line == 1 && rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
    if (line == 1 && (rest.starts_with("\xFF\xFE") || rest.starts_with("\xFE\xFF")))
      throw DataError(bytes.name + ": is UTF-16 text; expected UTF-8");
    if (!separator_known && !trimmed(rest).empty()) {
      separates = separator(rest);
      csv_set_delim(&parser, static_cast<unsigned char>(separates));
      separator_known = true;
    }
    if (!in_quotes) records.line = line;
    if (std::ranges::count(rest, '"') % 2 != 0) in_quotes = !in_quotes;
    check(csv_parse(&parser, rest.data(), rest.size(), on_field, on_record, &records) == rest.size());
  }
  check(csv_fini(&parser, on_field, on_record, &records) == 0);
  records.end_file();
  DataTable table = std::move(records).table();
  read_cells(table, separates == ',');
  return table;
}

SourceKind csv() {
  return {SourceKind::Is::file,
          "csv, csv.gz",
          "",
          [](const Asked& asked) {
            return asked.start == nullptr ? asked.ends_in(".csv .csv.gz .tsv .tsv.gz")
                                          : asked.start->find('\0') == std::string::npos;
          },
          [](const std::string& path, const ReadOptions& options) {
            return source_of(read_csv(file_bytes(path)), options);
          },
          true};
}

}  // namespace zeroloss::internal
