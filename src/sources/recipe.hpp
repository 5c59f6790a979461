#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// Texts that say how to generate something: NAME:KEY=VALUE,KEY=VALUE.
namespace zeroloss::internal {

/// A key of a recipe, and where its value goes: a whole number, or one of some words.
struct RecipeKey {
  const char* name;
  /// Of the key seed: in [0, 2^53). Of others: >= 1; where it is 0 before, the text has to say it.
  std::int64_t* number = nullptr;
  std::string* word = nullptr;
  std::vector<std::string> words{};
};

/// Reads what the text says of the keys. Throws std::invalid_argument "TEXT: what is wrong; expected
/// EXPECTED".
void read_recipe(const std::string& text, const std::string& expected, const std::vector<RecipeKey>& keys);

/// Whether a recipe, or the form of one, says this key.
bool says(const std::string& recipe, const std::string& key);

/// The recipe with one value more.
std::string with(const std::string& recipe, const std::string& key, Index value);

}  // namespace zeroloss::internal
