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

// Of the derivative of h in the weights: a bound of its norm in the ball, and of how far it is there from
// that at the weights that were evaluated.
struct Derivative {
  UpperBound dh, off;
};

// Of layer l at point i; `in` of its input becomes that of its output. With `here`, what is known of the
// derivatives at the weights that were evaluated, dz and dh are that and `off` at most.
Change forward_change(const MovingPart& part, std::size_t l, const PointSizes& sizes, Index i, UpperBound R,
                      const Sensitivity* here, Derivative& in) {
  Change c;
  c.before = sizes.h(i) + R * in.dh;
  c.dh_before = in.dh;
  c.dz = length_of(part.W * in.dh, if_it(part.moves, c.before), part.b() ? 1 : 0);
  const UpperBound W_moves = if_it(part.moves, R * in.dh),
                   dz_off = length_of(W_moves + part.W * in.off, W_moves);
  if (here != nullptr) c.dz = min(c.dz, here->z(static_cast<Index>(l)) + dz_off);
  c.slope = min(part.steepest, sizes.slope(i) + part.curvature * R * c.dz);
  c.da = c.slope * c.dz;
  c.a = sizes.a(i) + R * c.da;
  const UpperBound da_off = c.slope * dz_off + part.curvature * (R * c.dz) * c.dz,
                   U_moves = if_it(part.moves_U(), part.s * (R * c.da));
  if (!part.layer.residual) {
    in = {part.s * c.da, part.s * da_off};
  } else {
    const UpperBound U = part.s * part.U;
    in = {length_of(in.dh + U * c.da, if_it(part.moves_U(), part.s * c.a), part.bU() ? part.s : 0),
          length_of(in.off + U_moves + U * da_off, U_moves)};
  }
  if (here != nullptr) in.dh = min(in.dh, here->h(static_cast<Index>(l)) + in.off);
  return c;
}

// How fast a row of J changes: by its blocks, and by the second derivative of the output along a line.
struct RowChange {
  UpperBound blocks;           // squares
  UpperBound bends, products;  // of activations; squares of pairs of weights that are multiplied

  UpperBound squares() const {
    const UpperBound second = bends + sqrt(2 * products);
    return min(blocks, second * second);
  }
};

// Of row r in the blocks of layer l; du of its output becomes that of its input.
void add_row_change(const MovingPart& part, const Change& c, const RowSizes& rows, Index r, UpperBound R,
                    UpperBound& du, RowChange& sum) {
  const UpperBound u = rows.u(r) + R * du;
  const UpperBound dq = part.U * du + if_it(part.moves_U(), u);  // U = 1 where it is the identity
  const UpperBound largest = rows.q_largest(r) + R * dq;
  const UpperBound bend = part.curvature * largest * c.dz, dg = part.s * (c.slope * dq + bend);
  const UpperBound g = min(rows.g(r) + R * dg, part.s * c.slope * (rows.q(r) + R * dq));
  const auto add = [](UpperBound& squares, UpperBound change) { squares += change * change; };
  if (part.moves) add(sum.blocks, dg * c.before + g * c.dh_before);
  if (part.b()) add(sum.blocks, dg);
  if (part.moves_U()) add(sum.blocks, part.s * (du * c.a + u * c.da));
  if (part.bU()) add(sum.blocks, part.s * du);
  sum.bends += part.s * bend * c.dz;
  if (part.moves) add(sum.products, g * c.dh_before);
  if (part.moves_U()) add(sum.products, part.s * u * c.da);
  du = part.W * dg + if_it(part.moves, g) + if_it(part.layer.residual, du);
}

// The network in the ball.
class Ball {
 public:
  Ball(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
       const Moving& moving, double radius)
      : network_(network),
        norms_(norms),
        e_(e),
        moving_(moving),
        radius_(radius),
        first_(first_moving(moving)) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      const Layer& layer = network.layers[l];
      const Activation phi = activation_of(layer);
      const bool moves = moving[l], kinked = !phi.smooth();
      parts_.push_back({layer, moves, kinked && l >= first_, norms[l].W + if_it(moves, radius_),
                        norms[l].U + if_it(moves && layer.U.size() > 0, radius_), std::abs(layer.scale),
                        kinked ? 0 : phi.M, phi.B});
    }
  }

  // Squares of what the rows of point i change by, summed.
  UpperBound squares(Index i, const Sensitivity* here, NearestKink& nearest) const {
    const std::size_t L = parts_.size();
    std::vector<Change> changes;
    Derivative in;
    for (std::size_t l = 0; l < L; ++l) {
      changes.push_back(forward_change(parts_[l], l, e_.points[l], i, radius_, here, in));
      if (parts_[l].kinked) find_kink(l, i, changes.back(), nearest);
    }
    UpperBound sum;
    const UpperBound weight = e_.weights(i), V = if_it(moving_.back(), weight * in.dh);
    const Index K = network_.outputs();
    for (Index k = 0; k < K; ++k) {
      UpperBound du = if_it(moving_.back(), weight);
      RowChange row{V * V, {}, V * V};
      for (std::size_t l = L; l-- > first_;)
        add_row_change(parts_[l], changes[l], e_.rows[l], i * K + k, radius_, du, row);
      sum += row.squares();
    }
    return sum;
  }

 private:
  void find_kink(std::size_t l, Index i, const Change& c, NearestKink& nearest) const {
    const Vector& rows = norms_[l].rows;
    const Layer& layer = network_.layers[l];
    const double tail = long_gamma(layer.inputs() + 4);
    for (Index j = 0; j < rows.size(); ++j) {
      const double z = std::abs(e_.pass.layers[l].z(i, j));
      const double bias = layer.b.size() > 0 ? std::abs(layer.b(j)) : 0;
      const auto off =
          static_cast<double>(rows(j) * UpperBound(e_.points[l].h_error(i)) +
                              tail * (rows(j) * UpperBound(e_.points[l].h(i)) + bias) + u * z + kTiny);
      const auto move =
          static_cast<double>(radius_ * length_of((rows(j) + if_it(parts_[l].moves, radius_)) * c.dh_before,
                                                  if_it(parts_[l].moves, c.before), parts_[l].b() ? 1 : 0));
      const double ratio = z > off && move >= 0 ? (z - off) * kDown / move : 0;  // 0 where one is NaN
      if (ratio < nearest.ratio) nearest = {ratio, i, static_cast<Index>(l), j};
    }
  }

  const DeepNetwork& network_;
  const std::vector<LayerNorms>& norms_;
  const DeepEvaluation& e_;
  const Moving& moving_;
  UpperBound radius_;
  std::size_t first_;
  std::vector<MovingPart> parts_;
};

// Of points one after another, in blocks; with their sensitivities, if there are any.
class Sum {
 public:
  explicit Sum(const Ball& ball) : ball_(ball) {}

  void add(Index first, Index end, const Sensitivities* known) {
    const auto count = static_cast<std::size_t>(end - first);
    std::vector<UpperBound> squares(count);
    std::vector<NearestKink> kinks(count);
    parallel_for(end - first, [&](Index k) {
      const auto at = static_cast<std::size_t>(k);
      squares[at] = ball_.squares(first + k, known != nullptr ? &known->of(first + k) : nullptr, kinks[at]);
    });
    for (const UpperBound square : squares) squares_ += square;
    for (const NearestKink& kink : kinks)
      if (!(kink.ratio >= kink_.ratio)) kink_ = kink;
  }

  Lipschitz result() const {
    const auto constant = static_cast<double>(sqrt(squares_));
    return {constant, kink_, constant};
  }

 private:
  const Ball& ball_;
  UpperBound squares_;
  NearestKink kink_;
};

}  // namespace

Lipschitz lipschitz(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                    const Moving& moving, double radius) {
  const Ball ball(network, norms, e, moving, radius);
  Sum sum(ball);
  sum.add(0, e.pass.f.rows(), nullptr);
  return sum.result();
}

Lipschitz lipschitz(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                    const Moving& moving, double radius, double enough, Sensitivities& sensitivities,
                    Progress& progress) {
  constexpr double kMostWork = 4e12;
  constexpr Index kFewest = 8, kMost = 256;  // points at a time: a bound that is hopeless is seen early
  const Index n = e.pass.f.rows();
  Lipschitz products = lipschitz(network, norms, e, moving, radius);
  if (!(products.constant > enough && sensitivities.work() * static_cast<double>(n) <= kMostWork))
    return products;
  const Ball ball(network, norms, e, moving, radius);
  Sum sum(ball);
  for (Index first = 0, count = kFewest; first < n; first += count, count = std::min(2 * count, kMost)) {
    const Index end = std::min(n, first + count);
    sensitivities.compute(end, progress);
    sum.add(first, end, &sensitivities);
    products.least = sum.result().constant;
    if (end < n && products.least > enough) return products;
  }
  return sum.result();
}

}  // namespace zeroloss::internal::verified
