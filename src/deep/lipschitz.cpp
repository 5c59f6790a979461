#include "deep/lipschitz.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel_for.hpp"
#include "linalg/rounding.hpp"
#include "linalg/upper_bound.hpp"
#include "proof/evaluate.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math.
namespace zeroloss::internal::verified {
namespace {

// What a layer is, as far as its changes go.
struct MovingPart {
  const Layer& layer;
  bool moves, kinked;
  UpperBound W, U;  // norms of all matrices in the ball
  double s;         // |scale|
  double curvature, steepest;

  bool b() const { return moves && layer.b.size() > 0; }
  bool moves_U() const { return moves && layer.U.size() > 0; }
  bool bU() const { return moves && layer.bU.size() > 0; }
};

// How far what a point makes of a layer can be from that at other weights, for a unit of distance of the
// weights; sizes at every weight of the ball.
struct Change {
  UpperBound before, dh_before, dz, slope, da, a;
};

UpperBound if_it(bool moves, UpperBound bound) { return moves ? bound : UpperBound(); }

// Of layer l at point i; `dh` and `h` of its input become those of its output.
Change forward_change(const MovingPart& part, const PointSizes& sizes, Index i, UpperBound R,
                      UpperBound& dh) {
  Change c;
  c.before = sizes.h(i) + R * dh;
  c.dh_before = dh;
  c.dz = length_of(part.W * dh, if_it(part.moves, c.before), part.b() ? 1 : 0);
  c.slope = min(part.steepest, sizes.slope(i) + part.curvature * R * c.dz);
  c.da = c.slope * c.dz;
  c.a = sizes.a(i) + R * c.da;
  if (!part.layer.residual)
    dh = part.s * c.da;
  else
    dh = length_of(dh + part.s * part.U * c.da, if_it(part.moves_U(), part.s * c.a), part.bU() ? part.s : 0);
  return c;
}

// Squares of what row r of J changes by in the blocks of layer l; du of its output becomes that of its input.
UpperBound row_change(const MovingPart& part, const Change& c, const RowSizes& rows, Index r, UpperBound R,
                      UpperBound& du) {
  const UpperBound u = rows.u(r) + R * du;
  const UpperBound dq = part.U * du + if_it(part.moves_U(), u);  // U = 1 where it is the identity
  const UpperBound largest = rows.q_largest(r) + R * dq;
  const UpperBound dg = part.s * (c.slope * dq + part.curvature * largest * c.dz);
  const UpperBound g = min(rows.g(r) + R * dg, part.s * c.slope * (rows.q(r) + R * dq));
  UpperBound squares;
  const auto add = [&](UpperBound change) { squares += change * change; };
  if (part.moves) add(dg * c.before + g * c.dh_before);
  if (part.b()) add(dg);
  if (part.moves_U()) add(part.s * (du * c.a + u * c.da));
  if (part.bU()) add(part.s * du);
  du = part.W * dg + if_it(part.moves, g) + if_it(part.layer.residual, du);
  return squares;
}

}  // namespace

Lipschitz lipschitz(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                    const Moving& moving, double largest_distance) {
  const UpperBound radius = largest_distance;
  const Index n = e.pass.f.rows(), K = network.outputs();
  const std::size_t L = network.layers.size(), first = first_moving(moving);
  std::vector<MovingPart> parts;
  for (std::size_t l = 0; l < L; ++l) {
    const Layer& layer = network.layers[l];
    const Activation phi = activation_of(layer);
    const bool moves = moving[l], kinked = !phi.smooth();
    parts.push_back({layer, moves, kinked && l >= first, norms[l].W + if_it(moves, radius),
                     norms[l].U + if_it(moves && layer.U.size() > 0, radius), std::abs(layer.scale),
                     kinked ? 0 : phi.M, phi.B});
  }
  std::vector<UpperBound> squares(static_cast<std::size_t>(n));
  std::vector<NearestKink> kinks(static_cast<std::size_t>(n));
  parallel_for(n, [&](Index i) {
    std::vector<Change> changes;
    UpperBound dh;
    for (std::size_t l = 0; l < L; ++l) {
      const UpperBound dh_before = dh;
      changes.push_back(forward_change(parts[l], e.points[l], i, radius, dh));
      const Change& c = changes.back();
      if (!parts[l].kinked) continue;
      NearestKink& nearest = kinks[static_cast<std::size_t>(i)];
      const Vector& rows = norms[l].rows;
      const double tail = long_gamma(network.layers[l].inputs() + 4);
      for (Index j = 0; j < rows.size(); ++j) {
        const double z = std::abs(e.pass.layers[l].z(i, j));
        const double bias = network.layers[l].b.size() > 0 ? std::abs(network.layers[l].b(j)) : 0;
        const auto off =
            static_cast<double>(rows(j) * UpperBound(e.points[l].h_error(i)) +
                                tail * (rows(j) * UpperBound(e.points[l].h(i)) + bias) + u * z + kTiny);
        const auto move =
            static_cast<double>(radius * length_of((rows(j) + if_it(parts[l].moves, radius)) * dh_before,
                                                   if_it(parts[l].moves, c.before), parts[l].b() ? 1 : 0));
        const double ratio = z > off && move >= 0 ? (z - off) * kDown / move : 0;  // 0 where one is NaN
        if (ratio < nearest.ratio) nearest = {ratio, i, static_cast<Index>(l), j};
      }
    }
    UpperBound sum;
    const UpperBound weight = e.weights(i);
    for (Index k = 0; k < K; ++k) {
      UpperBound du = if_it(moving.back(), weight);
      if (moving.back()) sum += weight * dh * (weight * dh);
      for (std::size_t l = L; l-- > first;)
        sum += row_change(parts[l], changes[l], e.rows[l], i * K + k, radius, du);
    }
    squares[static_cast<std::size_t>(i)] = sum;
  });
  Lipschitz result;
  UpperBound sum;
  for (const UpperBound square : squares) sum += square;
  result.constant = static_cast<double>(sqrt(sum));
  for (const NearestKink& kink : kinks)
    if (!(kink.ratio >= result.kink.ratio)) result.kink = kink;
  return result;
}

}  // namespace zeroloss::internal::verified
