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

#include "data/source_kind.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss::internal {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

struct Number {
  double value = 0;
  bool in_range = true;
};

/// A whole field as a number; "inf" and "nan" count as numbers here.
std::optional<Number> number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number result;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result.value);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  result.in_range = error == std::errc{};
  return result;
}

bool missing(std::string_view text) {
  const std::string plain = lower(trim(text));
  return plain.empty() || plain == "na" || plain == "nan" || plain == "-nan";
}

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
  Records(std::string name, std::string target) : name_(std::move(name)), target_(std::move(target)) {}

  void field(std::string_view text) { fields_.emplace_back(text); }

  /// The first record waits for the second: whether it is a header shows only beside it.
  void end_record() {
    if (first_.empty()) {
      first_ = std::move(fields_);
      first_line_ = line;
    } else {
      if (columns_.empty()) begin();
      add();
    }
    fields_.clear();
  }

  void end_file() {
    if (!first_.empty() && columns_.empty()) begin();
  }

  bool between() const { return fields_.empty(); }
  Source source() &&;

  std::size_t line = 0;
  std::exception_ptr failure;  ///< exceptions must not pass through libcsv

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: line {}: {}", name_, line, what));
  }
  std::string column(std::size_t j) const {
    return has_header_ ? fmt::format("column {} ('{}')", j, columns_[j]) : fmt::format("column {}", j);
  }
  void begin();
  void choose_target();
  void add();
  double feature(std::size_t j) const;

  std::string name_, target_;
  std::vector<std::string> fields_, first_, columns_, texts_;
  std::size_t first_line_ = 0;
  std::vector<double> values_;
  bool has_header_ = false;
  std::optional<std::size_t> target_column_;
};

// A header is a first record with text where the second has a number, or, where it stands alone, with any
// text: so the first record of a file without a header is not lost because its class is a word.
void Records::begin() {
  const auto text = [](const std::string& field) { return !number(field) && !missing(field); };
  const bool alone = fields_.empty();
  for (std::size_t j = 0; j < first_.size(); ++j)
    has_header_ |= text(first_[j]) && (alone || j >= fields_.size() || !text(fields_[j]));
  columns_ = first_;
  for (std::string& column : columns_) column = trim(column);
  const std::size_t second_line = std::exchange(line, first_line_);
  choose_target();
  if (columns_.size() == 1 && target_column_)
    fail("found only the target column; expected feature columns too");
  if (!has_header_) {
    fields_.swap(first_);
    add();
    fields_.swap(first_);
  }
  line = second_line;
}

void Records::choose_target() {
  if (target_ == "none") return;
  if (has_header_) {
    for (const char* usual : {"label", "target", "class", "y"}) {
      const auto matches = [&](const std::string& c) {
        return target_.empty() ? lower(c) == usual : c == target_;
      };
      const auto found = std::ranges::find_if(columns_, matches);
      if (found == columns_.end()) continue;
      if (std::find_if(found + 1, columns_.end(), matches) != columns_.end())
        fail(
            fmt::format("more than one column is called '{}'; give the target by its 0-based index", *found));
      target_column_ = static_cast<std::size_t>(found - columns_.begin());
      return;
    }
  }
  if (target_.empty()) return;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(target_.data(), target_.data() + target_.size(), index);
  if (error != std::errc{} || end != target_.data() + target_.size() || index >= columns_.size()) {
    const std::string names = has_header_ ? fmt::format(": {}", fmt::join(columns_, ", ")) : " and no header";
    throw DataError(fmt::format(
        "{}: no target column '{}'; expected a name or a 0-based index; the file has {} columns{}", name_,
        target_, columns_.size(), names));
  }
  target_column_ = index;
}

double Records::feature(std::size_t j) const {
  const std::string& text = fields_[j];
  if (missing(text))
    fail(fmt::format("{}: missing value '{}'; fill it in or remove the record", column(j), text));
  const auto parsed = number(text);
  if (!parsed)
    fail(fmt::format("{}: found text '{}', expected a number (if this column is the target, say `target={}`)",
                     column(j), text, j));
  if (!parsed->in_range)
    fail(fmt::format("{}: '{}' is outside the range of double precision", column(j), text));
  if (!std::isfinite(parsed->value))
    fail(fmt::format("{}: '{}' is not finite; expected a finite number", column(j), text));
  return parsed->value;
}

void Records::add() {
  if (fields_.size() != columns_.size())
    fail(fmt::format("found {} fields, expected {} as in the first line", fields_.size(), columns_.size()));
  for (std::size_t j = 0; j < fields_.size(); ++j) {
    if (j != target_column_) {
      values_.push_back(feature(j));
      continue;
    }
    if (missing(fields_[j]))
      fail(fmt::format("{}: missing target '{}'; fill it in or remove the record", column(j), fields_[j]));
    if (number(fields_[j])) feature(j);  // a number must be one that can be used
    texts_.emplace_back(trim(fields_[j]));
  }
}

Source Records::source() && {
  if (columns_.empty()) throw DataError(name_ + ": is empty; expected a table");
  Source source;
  source.d = static_cast<Index>(columns_.size()) - (target_column_ ? 1 : 0);
  source.n = static_cast<Index>(values_.size()) / source.d;
  if (source.n == 0) throw DataError(name_ + ": has a header line but no records");
  if (target_column_) {
    source.target_name = column(*target_column_);
    if (std::ranges::all_of(texts_, [](const auto& text) { return number(text).has_value(); }))
      std::ranges::transform(texts_, std::back_inserter(source.numbers),
                             [](const auto& text) { return number(text)->value; });
    else
      source.texts = std::move(texts_);
  }
  if (has_header_) {
    if (target_column_) columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(*target_column_));
    source.feature_names = std::move(columns_);
  }
  source.points = [values = std::move(values_), d = source.d](const std::vector<Index>& records) {
    RowMatrix X(static_cast<Index>(records.size()), d);
    for (Index i = 0; i < X.rows(); ++i)
      std::copy_n(values.data() + records[static_cast<std::size_t>(i)] * d, d, X.row(i).data());
    return X;
  };
  return source;
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

Source read_csv(const Bytes& bytes, const std::string& target) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw BackendError("libcsv: csv_init failed");
  const std::unique_ptr<csv_parser, decltype(&csv_free)> cleanup(&parser, csv_free);
  Records records(bytes.name, target);
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
    if (!separator_known && !trim(rest).empty()) {
      csv_set_delim(&parser, static_cast<unsigned char>(separator(rest)));
      separator_known = true;
    }
    if (!in_quotes) records.line = line;
    if (std::ranges::count(rest, '"') % 2 != 0) in_quotes = !in_quotes;
    check(csv_parse(&parser, rest.data(), rest.size(), on_field, on_record, &records) == rest.size());
  }
  check(csv_fini(&parser, on_field, on_record, &records) == 0);
  records.end_file();
  return std::move(records).source();
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
            return read_csv(file_bytes(path), options.target);
          },
          true};
}

}  // namespace zeroloss::internal
