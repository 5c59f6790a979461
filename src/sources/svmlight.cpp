#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sources/text_formats.hpp"
#include "tables/cells.hpp"
#include "tables/dates.hpp"
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
  constexpr Index kMost = 1'000'000'000;
  if (!index || *index < 0 || *index > kMost || !value) return {};
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

bool is_svmlight(const std::vector<std::string>& first_lines, bool called_so) {
  bool several = false, any = false, times = true;
  for (const std::string& line : first_lines) {
    const auto words = words_before_comment(line);
    if (words.empty()) continue;
    if (called_so) return true;
    if (words[0].find_first_not_of("+-0123456789.eE,") != std::string_view::npos) return false;
    for (std::size_t k = 1; k < words.size(); ++k)
      if (!is_query(words[k])) {
        if (!pair_in(words[k])) return false;
        times = times && hours_of(words[k]);
      }
    any = true;
    several |= words.size() > 2;
  }
  return any && several && !times;  // 8:30 17:15 are two times
}

Source read_svmlight(const Bytes& bytes) {
  Source source;
  source.name = bytes.name;
  Index least = std::numeric_limits<Index>::max(), most = -1;
  bool queries = false;
  for_each_record(bytes, [&](Index number, const std::vector<std::string_view>& words) {
    const auto label = number_of(words[0]);
    if (!label || !label->in_range)
      throw DataError(fmt::format("{}: line {}: label '{}'; expected one number a record", bytes.name, number,
                                  excerpt(words[0])));
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
  constexpr Index kWidest = 10'000'000;
  if (source.d > kWidest)
    throw DataError(
        fmt::format("{}: index {}; points have {} numbers at most", bytes.name, most, with_commas(kWidest)));
  constexpr double kOfName = 64;
  const auto wide = static_cast<double>(source.d);
  require_memory(16.0 * static_cast<double>(source.n) * wide + kOfName * wide, bytes.name,
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
  source.sparse = true;
  source.points = rows_of(std::move(X));
  return source;
}

}  // namespace zeroloss::internal
