#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sources/text_formats.hpp"
#include "tables/cells.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

struct Pair {
  Index index = 0;
  double value = 0;
};

/// "3:1.5"; nothing for anything else.
std::optional<Pair> pair_in(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return {};
  const auto index = parsed_integer<Index>(word.substr(0, colon));
  const auto value = number_of(word.substr(colon + 1));
  if (!index || *index < 0 || !value) return {};
  return Pair{*index, value->in_range ? value->value : std::numeric_limits<double>::infinity()};
}

std::vector<std::string_view> words_before_comment(std::string_view line) {
  return words_of(line.substr(0, line.find('#')));
}

bool is_query(std::string_view word) { return word.starts_with("qid:"); }

/// Calls use(number of the line, its words) for each line that is a record.
template <class Use>
void for_each_record(const Bytes& bytes, Use use) {
  ByteReader reader = bytes.open();
  std::string text;
  for (Index number = 1; reader.line(text); ++number)
    if (const auto words = words_before_comment(text); !words.empty()) use(number, words);
}

}  // namespace

bool is_svmlight(const std::vector<std::string>& first_lines) {
  bool several = false, any = false;
  for (const std::string& line : first_lines) {
    const auto words = words_before_comment(line);
    if (words.empty()) continue;
    if (!number_of(words[0])) return false;
    for (std::size_t k = 1; k < words.size(); ++k)
      if (!is_query(words[k]) && !pair_in(words[k])) return false;
    any = true;
    several |= words.size() > 2;
  }
  return any && several;
}

Source read_svmlight(const Bytes& bytes) {
  Source source;
  source.name = bytes.name;
  Index least = std::numeric_limits<Index>::max(), most = -1;
  bool queries = false;
  for_each_record(bytes, [&](Index number, const std::vector<std::string_view>& words) {
    const auto label = number_of(words[0]);
    if (!label || !label->in_range)
      throw DataError(
          fmt::format("{}: line {}: label '{}'; expected one number", bytes.name, number, excerpt(words[0])));
    source.numbers.push_back(label->value);
    for (std::size_t k = 1; k < words.size(); ++k) {
      if (is_query(words[k])) {
        queries = true;
        continue;
      }
      const auto pair = pair_in(words[k]);
      if (!pair)
        throw DataError(fmt::format("{}: line {}: found '{}', expected index:value", bytes.name, number,
                                    excerpt(words[k])));
      least = std::min(least, pair->index);
      most = std::max(most, pair->index);
    }
  });
  source.n = std::ssize(source.numbers);
  if (most < 0) throw DataError(bytes.name + ": has no index:value in any line");
  const Index first = least == 0 ? 0 : 1;
  source.d = most - first + 1;
  require_memory(16.0 * static_cast<double>(source.n) * static_cast<double>(source.d), bytes.name,
                 "keep fewer records or indices");
  RowMatrix X = RowMatrix::Zero(source.n, source.d);
  Index row = 0;
  for_each_record(bytes, [&](Index number, const std::vector<std::string_view>& words) {
    if (row == X.rows()) throw DataError(bytes.name + ": became longer while read");
    for (std::size_t k = 1; k < words.size(); ++k)
      if (const auto pair = pair_in(words[k]);
          pair && pair->index >= first && pair->index - first < X.cols()) {
        double& x = X(row, pair->index - first);
        if (x != 0)
          throw DataError(fmt::format("{}: line {}: index {} twice", bytes.name, number, pair->index));
        x = pair->value;
      }
    ++row;
  });
  for (Index j = 0; j < source.d; ++j) source.feature_names.push_back(fmt::format("{}", first + j));
  source.target_name = "labels";
  source.remarks.push_back(fmt::format("svmlight: indices {} to {}, 0 where one is not written{}", first,
                                       most, queries ? "; qid is left out" : ""));
  source.points = rows_of(std::move(X));
  return source;
}

}  // namespace zeroloss::internal
