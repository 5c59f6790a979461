#include "deep/lipschitz.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/rounding.hpp"
#include "proof/evaluate.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math.
namespace zeroloss::internal::verified {
namespace {

// What a layer is, as far as its changes go.
struct Part {
  const Layer& layer;
  bool moves, kinked;
  double W, U, s;  // norms of all matrices in the ball; |scale|
  double curvature, steepest;

  bool b() const { return moves && layer.b.size() > 0; }
  bool moves_U() const { return moves && layer.U.size() > 0; }
  bool bU() const { return moves && layer.bU.size() > 0; }
};

// How far what a point makes of a layer can be from that at other weights, for a unit of distance of the
// weights; sizes at every weight of the ball.
struct Change {
  double before, dh_before, dz, slope, da, a;
};

double root_of_squares(double a, double b, double c = 0) { return std::sqrt(a * a + b * b + c * c) * kUp; }

// Of layer l at point i; `dh` and `h` of its input become those of its output.
Change forward_change(const Part& part, const PointSizes& sizes, Index i, double R, double& dh) {
  Change c{};
  c.before = (sizes.h(i) + R * dh) * kUp;
  c.dh_before = dh;
  c.dz = root_of_squares(part.W * dh, part.moves ? c.before : 0, part.b() ? 1 : 0);
  c.slope = std::min(part.steepest, (sizes.slope(i) + part.curvature * R * c.dz) * kUp);
  c.da = c.slope * c.dz * kUp;
  c.a = (sizes.a(i) + R * c.da) * kUp;
  if (!part.layer.residual)
    dh = part.s * c.da * kUp;
  else
    dh = root_of_squares(dh + part.s * part.U * c.da, part.moves_U() ? part.s * c.a : 0,
                         part.bU() ? part.s : 0) *
         kUp;
  return c;
}

// Squares of what row r of J changes by in the blocks of layer l; du of its output becomes that of its input.
double row_change(const Part& part, const Change& c, const RowSizes& rows, Index r, double R, double& du) {
  const double u = (rows.u(r) + R * du) * kUp;
  const double dq = (part.U * du + (part.moves_U() ? u : 0)) * kUp;  // U = 1 where it is the identity
  const double largest = rows.q_largest(r) + R * dq;
  const double dg = part.s * (c.slope * dq + part.curvature * largest * c.dz) * kUp;
  const double g = std::min(rows.g(r) + R * dg, part.s * c.slope * (rows.q(r) + R * dq)) * kUp;
  double squares = 0;
  const auto add = [&](double change) { squares += change * change; };
  if (part.moves) add(dg * c.before + g * c.dh_before);
  if (part.b()) add(dg);
  if (part.moves_U()) add(part.s * (du * c.a + u * c.da));
  if (part.bU()) add(part.s * du);
  du = (part.W * dg + (part.moves ? g : 0) + (part.layer.residual ? du : 0)) * kUp;
  return squares;
}

}  // namespace

Lipschitz lipschitz(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                    const Moving& moving, double radius) {
  const Index n = e.pass.f.rows(), K = network.outputs();
  const std::size_t L = network.layers.size(), first = first_moving(moving);
  std::vector<Part> parts;
  for (std::size_t l = 0; l < L; ++l) {
    const Layer& layer = network.layers[l];
    const Activation phi = activation_of(layer);
    const bool moves = moving[l], kinked = !phi.smooth();
    parts.push_back({layer, moves, kinked && l >= first, (norms[l].W + (moves ? radius : 0)) * kUp,
                     (norms[l].U + (moves && layer.U.size() > 0 ? radius : 0)) * kUp, std::abs(layer.scale),
                     kinked ? 0 : phi.M, phi.B});
  }
  std::vector<double> squares(static_cast<std::size_t>(n));
  std::vector<NearestKink> kinks(static_cast<std::size_t>(n));
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < n; ++i) {
    std::vector<Change> changes;
    double dh = 0;
    for (std::size_t l = 0; l < L; ++l) {
      const double dh_before = dh;
      changes.push_back(forward_change(parts[l], e.points[l], i, radius, dh));
      const Change& c = changes.back();
      if (!parts[l].kinked) continue;
      NearestKink& nearest = kinks[static_cast<std::size_t>(i)];
      const Vector& rows = norms[l].rows;
      const double tail = long_gamma(network.layers[l].inputs() + 4);
      for (Index j = 0; j < rows.size(); ++j) {
        const double z = std::abs(e.pass.layers[l].z(i, j));
        const double bias = network.layers[l].b.size() > 0 ? std::abs(network.layers[l].b(j)) : 0;
        const double off =
            (rows(j) * e.points[l].h_error(i) + tail * (rows(j) * e.points[l].h(i) + bias) + u * z + kTiny) *
            kUp;
        const double move = radius *
                            root_of_squares((rows(j) + (parts[l].moves ? radius : 0)) * dh_before,
                                            parts[l].moves ? c.before : 0, parts[l].b() ? 1 : 0) *
                            kUp;
        const double ratio = z > off ? (z - off) * kDown / (move * kUp) : 0;
        if (ratio < nearest.ratio) nearest = {ratio, i, static_cast<Index>(l), j};
      }
    }
    double sum = 0;
    const double weight = e.weights(i);
    for (Index k = 0; k < K; ++k) {
      double du = moving.back() ? weight : 0;
      if (moving.back()) sum += weight * dh * (weight * dh);
      for (std::size_t l = L; l-- > first;)
        sum += row_change(parts[l], changes[l], e.rows[l], i * K + k, radius, du);
    }
    squares[static_cast<std::size_t>(i)] = sum * kUp;
  }
  Lipschitz result;
  double sum = 0;
  for (const double square : squares) sum += square;
  result.constant = std::sqrt(sum) * kUp * kUp;
  for (const NearestKink& kink : kinks)
    if (!(kink.ratio >= result.kink.ratio)) result.kink = kink;
  return result;
}

}  // namespace zeroloss::internal::verified
