#include "download/known.hpp"
#include "sources/source_kind.hpp"

/// The sets of data/sources.json by their names.
namespace zeroloss::internal {

SourceKind downloaded(const KnownSet& set) {
  return {SourceKind::Is::name, set.name, "", [set](const Asked& asked) { return asked.text == set.name; },
          [set](const std::string&, const ReadOptions& options) {
            return open_folder(cached_folder(set, options.cache, "read_dataset"), options);
          }};
}

}  // namespace zeroloss::internal
