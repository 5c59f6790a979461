#include "sources/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {

void read_recipe(const std::string& text, const std::string& expected, const std::vector<RecipeKey>& keys) {
  const auto fail = [&](const std::string& what) {
    throw std::invalid_argument(fmt::format("'{}': {}; expected {}", excerpt(text), what, expected));
  };
  const auto is_seed = [](const RecipeKey& key) { return std::string_view(key.name) == "seed"; };
  std::vector<std::string_view> seen;
  std::string_view rest = std::string_view(text).substr(text.find(':') + 1);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    const auto key = std::ranges::find(keys, item.substr(0, equals), &RecipeKey::name);
    if (key == keys.end()) {
      fail(fmt::format("unknown part '{}'", excerpt(item)));
    } else if (std::ranges::find(seen, key->name) != seen.end()) {
      fail(fmt::format("{} is given twice", key->name));
    } else if (key->number == nullptr) {
      if (std::ranges::find(key->words, value) == key->words.end())
        fail(fmt::format("{} = '{}'", key->name, excerpt(value)));
      *key->word = value;
    } else {
      const auto number = parsed_integer<std::int64_t>(value);
      const std::int64_t least = is_seed(*key) ? 0 : 1;
      if (number) *key->number = *number;
      if (!number || *number < least)
        fail(fmt::format("{} must be an integer >= {}; got '{}'", key->name, least, excerpt(value)));
    }
    seen.emplace_back(key->name);
  }
  for (const RecipeKey& key : keys)
    if (key.number != nullptr && *key.number == 0 && !is_seed(key))
      fail(fmt::format("{} is missing", key.name));
  for (const RecipeKey& key : keys)
    if (is_seed(key) && *key.number >= (std::int64_t{1} << 53))
      fail(fmt::format("seed must be below 2^53; got {}", *key.number));
}

bool says(const std::string& recipe, const std::string& key) {
  return recipe.find(":" + key + "=") != std::string::npos ||
         recipe.find("," + key + "=") != std::string::npos;
}

std::string with(const std::string& recipe, const std::string& key, Index value) {
  return fmt::format("{}{}{}={}", recipe, recipe.ends_with(':') ? "" : ",", key, value);
}

}  // namespace zeroloss::internal
