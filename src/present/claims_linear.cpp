#include <fmt/format.h>

#include "present/claims_of.hpp"
#include "present/common.hpp"

// The factorisations that linear proves, as claims: those of the last depth, whose layers are kept.
namespace zeroloss::internal {

void claim_linear(Claims& claims, const LinearResult& r) {
  const Matrix& R = r.problem.R;
  const auto entries = static_cast<double>(R.size());
  double matrices = 1;
  for (const Factorization& f : r.depths.back().factorizations)
    matrices += static_cast<double>(f.network.A.size());
  if (claims.leaves_out(8 * entries * matrices, "map and the layers")) return;
  std::string map;
  for (const Factorization& f : r.depths.back().factorizations) {
    if (!f.missing.empty() || f.network.A.empty()) continue;
    if (map.empty()) map = claims.matrix("map", R);
    Json layers = Json::array();
    for (std::size_t i = 0; i < f.network.A.size(); ++i)
      layers.push_back(claims.matrix(fmt::format("{}_A{}", f.name, i + 1), f.network.A[i]));
    Json& claim = claims.add("factorisation",
                             fmt::format("{}: R is exactly a product of {} I + A_i with every ||A_i|| <= {}",
                                         f.name, count(f.layers, "layer", "layers"), above(f.max_norm, 3)));
    claim["map"] = map;
    claim["layers"] = std::move(layers);
    claim["max_norm"] = hexadecimal(f.max_norm);
    claim["correction"] = hexadecimal(f.correction);
    claim["error"] = hexadecimal(f.reconstruction_error);
  }
}

}  // namespace zeroloss::internal
