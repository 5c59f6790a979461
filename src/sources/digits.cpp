#include "download/embedded.hpp"
#include "sources/bytes.hpp"
#include "sources/csv.hpp"
#include "sources/source_kind.hpp"
#include "sources/table_source.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"

/// The handwritten digits that are part of the library.
namespace zeroloss::internal {
namespace {

Source open_digits(const std::string&, const ReadOptions& options) {
  if (options.split == "test") throw DataError("digits: has no test split");
  const std::string target =
      options.target == "none" ? "" : options.target;  // without targets, not with one feature more
  ReadOptions how = options;
  how.target = target;
  Source source = plain_source_of(read_csv(gzip_bytes("digits", embedded::digits_csv_gz)), how);
  source.digest = sha256(embedded::digits_csv_gz);
  return source;
}

}  // namespace

SourceKind digits() {
  return {SourceKind::Is::name,
          "digits",
          "handwritten digits, 8x8 pixels 0..16",
          [](const Asked& asked) { return asked.text == "digits"; },
          open_digits,
          true};
}

}  // namespace zeroloss::internal
