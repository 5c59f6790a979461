#include <fmt/format.h>

#include <filesystem>

#include "base/json.hpp"
#include "sources/source_kind.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

/// Files that are known by their names and not read here; what to do instead is said.
namespace zeroloss::internal {
namespace {

struct Reader {
  const char *endings, *called, *function;
};
constexpr Reader kReaders[] = {{".parquet .pq", "a Parquet file", "read_parquet"},
                               {".feather .arrow", "an Arrow file", "read_feather"},
                               {".xlsx .xls", "a spreadsheet", "read_excel"}};

[[noreturn]] void refuse(const std::string& path) {
  namespace fs = std::filesystem;
  const auto beside = [&](const char* ending) { return fs::path(path).replace_extension(ending).string(); };
  const auto python = [](const std::string& text) { return Json(text).dump(); };
  const std::string nobody = "train";
  for (const Reader& reader : kReaders)
    if (Asked{path, nobody}.ends_in(reader.endings))
      throw DataError(fmt::format(
          "{}: is {}; the Python package reads it (zeroloss.read_dataset), or convert it: python3 -c {}",
          path, reader.called,
          shell_word(fmt::format("import pandas; pandas.{}({}).to_csv({}, index=False)", reader.function,
                                 python(path), python(beside(".csv"))))));
  throw DataError(fmt::format("{}: is the description of a data set, not its data; give {}{}", path,
                              beside(".data"), fs::exists(beside(".data")) ? "" : ", which is not here"));
}

}  // namespace

SourceKind unread() {
  return {SourceKind::Is::file,
          "",
          "",
          [](const Asked& asked) {
            return asked.start == nullptr && asked.ends_in(".names .parquet .pq .feather .arrow .xlsx .xls");
          },
          [](const std::string& path, const ReadOptions&) -> Source { refuse(path); },
          true};
}

}  // namespace zeroloss::internal
