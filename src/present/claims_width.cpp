#include <fmt/format.h>

#include "present/claims_of.hpp"

// Widths below which no network fits almost any labels, as claims.
namespace zeroloss::internal {

void claim_too_few(Claims& claims, const std::string& points, const std::string& activation_name,
                   const std::vector<WidthRow>& rows, Index rank) {
  for (const WidthRow& row : rows) {
    if (row.id != "too_few" || !row.width || *row.width < 2) continue;
    Json& claim = claims.add("too_few", fmt::format("too few below {}: {}", *row.width, row.says));
    claim["points"] = points;
    claim["activation"] = activation_claim(activation_name);
    claim["width"] = static_cast<Index>(*row.width) - 1;
    claim["rank_at_most"] = rank;
  }
}

void claim_width(Claims& claims, const Dataset& data, const WidthOptions& options, const WidthResult& r) {
  if (!options.normalize || r.row("too_few") == nullptr || claims.leaves_out(data)) return;
  claims.points("data", claims.matrix("points", data.X),
                steps_to_points(claims, data.standardization, r.center));
  claim_too_few(claims, "data", r.activation, r.rows, r.rank);
}

}  // namespace zeroloss::internal
