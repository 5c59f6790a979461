#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/choices.hpp"
#include "sources/csv.hpp"
#include "sources/csv_layout.hpp"
#include "sources/source_kind.hpp"
#include "sources/table_source.hpp"
#include "sources/text_formats.hpp"
#include "sources/utf16.hpp"
#include "sources/zip_archive.hpp"
#include "tables/cells.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

/// Text: csv and the formats that are none, told by their first lines.
namespace zeroloss {
namespace internal {
namespace {

Source text_source(const Bytes& raw, const ReadOptions& options) {
  const CsvForm form = csv_form(options);
  const Bytes bytes = from_utf16(raw);
  const std::vector<std::string> lines = first_lines_of(bytes);
  const std::string nobody = "train";
  const bool called_so = Asked{bytes.name, nobody}.ends_in(".svm .libsvm .svmlight");
  if (!form.separator && is_svmlight(lines, called_so)) return read_svmlight(bytes);
  const bool attributes = is_arff(lines);
  if (!attributes && !is_time_series(lines)) return source_of(read_csv(bytes, form), options);
  DataTable table = attributes ? read_arff(bytes) : read_time_series(bytes);
  take_as_missing(table, form.na_values);
  read_cells(table);
  return source_of(std::move(table), options);
}

}  // namespace

std::vector<std::string> first_lines_of(const Bytes& bytes) {
  constexpr std::size_t kLooked = 50;
  std::vector<std::string> lines;
  ByteReader reader = bytes.open();
  std::string text;
  while (lines.size() < kLooked && reader.line(text))
    if (const std::string_view line = trimmed(without_mark(text));
        !line.empty() && !line.starts_with('#') && !line.starts_with('%'))
      lines.emplace_back(line);
  return lines;
}

CsvForm csv_form(const ReadOptions& options) {
  CsvForm form{.skip = options.skip, .skip_end = options.skip_end, .na_values = options.na_values};
  if (options.header != "auto") form.header = options.header == "yes";
  if (options.decimal != "auto") form.decimal = options.decimal[0];
  for (const auto& [option, value] :
       {std::pair("skip", options.skip), std::pair("skip_end", options.skip_end)})
    if (value && *value < 0)
      throw std::invalid_argument(fmt::format("read_dataset: `{}` must be >= 0; got {}", option, *value));
  if (options.delimiter == "tab" || options.delimiter == "\\t")
    form.separator = '\t';
  else if (options.delimiter == "blank")
    form.separator = ' ';
  else if (options.delimiter.size() == 1 && options.delimiter != "\"")
    form.separator = options.delimiter[0];
  else if (!options.delimiter.empty())
    throw std::invalid_argument(
        fmt::format("read_dataset: `delimiter` must be one character, tab or blank; got '{}'",
                    excerpt(options.delimiter)));
  return form;
}

SourceKind csv() {
  return {SourceKind::Is::file,
          "csv, csv.gz",
          "",
          [](const Asked& asked) {
            return asked.start == nullptr
                       ? asked.ends_in(
                             ".csv .csv.gz .tsv .tsv.gz .data .data.gz .arff .ts .svm .libsvm "
                             ".svmlight")
                       : asked.start->find('\0') == std::string::npos || is_utf16(*asked.start);
          },
          [](const std::string& path, const ReadOptions& options) {
            return text_source(file_bytes(path), options);
          },
          true};
}

SourceKind zipped() {
  return {SourceKind::Is::file,
          "",
          "",
          [](const Asked& asked) { return asked.start == nullptr && asked.ends_in(".zip"); },
          [](const std::string& path, const ReadOptions& options) {
            return text_source(only_entry(path), options);
          },
          true};
}

}  // namespace internal

using namespace internal;

Source open_csv(std::string name, std::string csv, std::optional<bool> header, const ReadOptions& options) {
  check_choices("read_dataset", options);
  const std::string digest = sha256(csv);
  const Bytes bytes = memory_bytes(name, std::move(csv));
  Source source;
  if (header)  // written by a program
    source = source_of(
        read_csv(
            bytes,
            {.header = header, .separator = ',', .skip = 0, .na_values = options.na_values, .exact = true}),
        options);
  else
    source = text_source(bytes, options);
  source.name = std::move(name);
  source.digest = digest;
  return source;
}

}  // namespace zeroloss
