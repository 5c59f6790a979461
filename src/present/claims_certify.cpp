#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "network/prepare.hpp"
#include "present/claims.hpp"
#include "present/claims_of.hpp"
#include "width/search.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/kernel/activation.hpp"

// What certify proves, as claims.
namespace zeroloss::internal {
namespace {

// Rows by the records that samples are known by.
class RowOf {
 public:
  explicit RowOf(const Dataset& data) {
    for (Index i = 0; i < data.n(); ++i)
      row_[data.records.empty() ? i : data.records[static_cast<std::size_t>(i)]] = i;
  }
  Index operator()(const Sample& sample) const { return row_.at(sample.record); }

 private:
  std::map<Index, Index> row_;
};

// The line of a text that says something, or all of it.
std::string line_with(const std::string& text, const std::string& word) {
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (std::string line = text.substr(from, end - from); line.find(word) != std::string::npos) return line;
    from = end + 1;
  }
  return text;
}

std::vector<std::pair<Index, Index>> pairs_of(const std::vector<std::vector<Sample>>& groups,
                                              const RowOf& row) {
  std::vector<std::pair<Index, Index>> pairs;
  for (const auto& group : groups)
    for (std::size_t k = 1; k < group.size(); ++k) pairs.emplace_back(row(group[0]), row(group[k]));
  return pairs;
}

}  // namespace

void claim_conflicts(Claims& claims, const std::string& points, const Dataset& data,
                     const std::vector<std::vector<Sample>>& groups, const std::string& text) {
  if (groups.empty()) return;
  // Samples that are one point may have equal labels too: pairs with different ones are the conflict.
  auto pairs = pairs_of(groups, RowOf(data));
  std::erase_if(pairs, [&](const auto& pair) { return data.y(pair.first) == data.y(pair.second); });
  Json& claim = claims.add("conflict", text);
  claim["points"] = points;
  claim["targets"] = claims.vector("targets", data.y);
  claim["pairs"] = claims.pairs("conflicting_pairs", pairs);
}

void claim_certify(Claims& claims, const Dataset& data, const CertifyOptions& options,
                   const CertifyResult& r) {
  if (claims.leaves_out(data)) return;
  const RowOf row(data);
  const std::string x = claims.point_array("points", data.X);
  const Standardization& standard = standardization_for(data, options.normalize);
  const Json steps = steps_to_points(claims, standard, r.center);
  claims.points("all", x, steps);
  // Of equal points one.
  std::vector<Index> rows(static_cast<std::size_t>(data.n()));
  std::iota(rows.begin(), rows.end(), Index{0});
  const auto equal = pairs_of(r.duplicates, row), against = pairs_of(r.conflicts, row);
  std::set<Index> again;
  for (const auto& pairs : {equal, against})
    for (const auto& [first, second] : pairs) again.insert(second);
  std::erase_if(rows, [&](Index i) { return again.contains(i); });
  const bool several = std::ssize(rows) < data.n();
  if (several) claims.points("distinct", x, steps, &rows);
  const std::string distinct = several ? "distinct" : "all";

  const Json phi = activation_claim(r.activation);
  if (r.lambda_min_verified) {
    Json& claim = claims.add("lambda_min", line_with(r.conclusion, "verified"));
    claim["points"] = distinct;
    Json kernel{{"of", options.network().deep() ? "layers" : "hidden"}, {"activation", phi}};
    if (options.network().deep()) kernel["layers"] = options.depth;
    if (options.network().deep() && options.residual) {
      kernel["residual"] = true;
      kernel["branch"] = hexadecimal(1);
    }
    claim["kernel"] = std::move(kernel);
    claim["at_least"] = hexadecimal(*r.lambda_min_verified);
  }
  if (r.n_distinct > 1 && r.separation > 0 && r.antipodal.empty()) {
    Json& claim = claims.add("separation", "separation delta >= " + decimal(r.separation, 4, Rounding::down));
    claim["points"] = distinct;
    claim["at_least"] = hexadecimal(r.separation);
  }
  if (!equal.empty()) {
    Json& claim = claims.add("equal_points", count(std::ssize(equal), "sample", "samples") +
                                                 " equal to another one, with equal labels");
    claim["points"] = "all";
    claim["pairs"] = claims.pairs("equal_pairs", equal);
  }
  claim_conflicts(claims, "all", data, r.conflicts, line_with(r.conclusion, "No network"));
  RowMatrix made;
  if (!r.widths.empty())
    claim_rows(claims, "all", data, r.activation, options.center, options.normalize, r.widths,
               rank_bound(exact_points(data, standard, made), r.center), options.accuracy);
  if (against.empty()) claim_theorems(claims, "all", data, r.activation, r.guarantees);
  if (!r.antipodal.empty()) {
    std::vector<std::pair<Index, Index>> pairs;
    for (const SamplePair& pair : r.antipodal) pairs.emplace_back(row(pair.first), row(pair.second));
    Json& claim = claims.add("antipodal", count(std::ssize(pairs), "antipodal pair", "antipodal pairs"));
    claim["points"] = "all";
    claim["pairs"] = claims.pairs("antipodal_pairs", pairs);
  }
}

}  // namespace zeroloss::internal
