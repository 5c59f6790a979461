#include "deep/single.hpp"

#include <cmath>
#include <limits>

#include "linalg/upper_bound.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. All lengths are 2-norms.
namespace zeroloss::internal::verified {
namespace {

constexpr double kUnit = 0x1p-24, kLost = 0x1p-126, kLargest = 0x1p126;  // of float32
constexpr double kPhiSingle = 16 * kUnit;                                // of smooth activations, assumed

// (1 + 2^-24)^k <= 1 + this.
UpperBound single_gamma(Index k) {
  const double part = static_cast<double>(k) * kUnit;
  return part < 0.5 ? part / (1 - part) * kUp : std::numeric_limits<double>::infinity();
}

bool fits(UpperBound size) { return static_cast<double>(size) < kLargest; }

// How many times larger or smaller numbers may become where a runtime multiplies by this factor before or
// behind a linear map, as it likes; infinite where the factor itself may be flushed to 0 or is 0.
double spread_of(double factor) {
  const double size = std::abs(factor);
  return size >= kLost ? std::max(size, 1 / size) * kUp : std::numeric_limits<double>::infinity();
}
// The largest spread of factors of which each multiplies one number; a 0 beside others makes nothing larger.
double spread_of(const Vector& factors) {
  double spread = factors.size() > 0 && (factors.array() == 0).all() ? spread_of(0) : 1;
  for (const double factor : factors)
    if (factor != 0) spread = std::max(spread, spread_of(factor));
  return spread;
}

UpperBound root_of(Index k) { return sqrt(UpperBound(static_cast<double>(k))); }

// A linear map of p numbers to m: norms of its matrix, rounded up.
struct LinearMap {
  UpperBound spectral, frobenius, bias;
  Index m, p;
  double spread;  // of a factor before it or behind it

  /// What its outputs are off by, of inputs of this length that are off by `off`. Three roundings more: of
  /// factors that are folded into the matrix.
  UpperBound error(UpperBound size, UpperBound off) const {
    const UpperBound input = size + off, sums = frobenius * input + bias;
    if (!fits(spread * input) || !fits(spread * sums)) return std::numeric_limits<double>::infinity();
    const UpperBound lost = kLost * (root_of(m) * static_cast<double>(2 * p + 1) + root_of(p) * frobenius +
                                     root_of(m) * root_of(p) * input);
    return spectral * off + single_gamma(p + 4) * sums + spread * lost;
  }
};

template <class A>
UpperBound norm_above(const A& a) {
  UpperBound squares;
  for (Index k = 0; k < a.size(); ++k) squares += UpperBound(std::abs(a.data()[k])) * std::abs(a.data()[k]);
  return sqrt(squares);
}

LinearMap linear_map(const RowMatrix& A, const Vector& b, double spectral, double spread) {
  return {spectral, norm_above(A), norm_above(b), A.rows(), A.cols(), spread};
}

struct LayerInSingle {
  LinearMap inner, outer;
  Activation phi;
  double scale;
  bool residual, identity;
};

// Bounds the error of h_0: points are rounded, moved, scaled, and divided by their lengths.
UpperBound input_error(const DeepNetwork& network, const RowMatrix& x, UpperBound h0) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const Index d = x.cols();
  const bool moves = network.shift.size() > 0, scales = network.factor.size() > 0;
  UpperBound squares;
  for (Index k = 0; k < d; ++k) {
    const UpperBound point = std::abs(x(0, k));
    UpperBound off = kUnit * point + kLost, size = point;
    if (moves) {
      const double low = network.shift_low.size() > 0 ? network.shift_low(k) : 0;
      const UpperBound shift = std::abs(network.shift(k)) + UpperBound(std::abs(low));
      off += kUnit * shift + kLost;  // a mean is rounded as well
      size = size + shift;
      off += 2 * kUnit * (size + off) + kLost;
    }
    if (!fits(size + off)) return kInfinite;  // a factor may hide it
    if (scales) {
      const UpperBound factor = std::abs(network.factor(k));
      off = factor * off + 3 * kUnit * (factor * (size + off)) + 2 * kLost;
      if (std::abs(network.factor(k)) < kLost) off += factor * size;  // it may be flushed
      if (!fits(factor * size + off)) return kInfinite;
    }
    squares += off * off;
  }
  const UpperBound constant = std::abs(network.constant), off = sqrt(squares) + kUnit * constant;
  if (!network.unit) return off;
  // Dividing by the length turns an error of `off` into 2 off/length; h_0 has length 1.
  long double length = 0;
  for (Index k = 0; k < d; ++k) {
    long double entry = x(0, k);
    if (moves) entry -= network.shift(k);
    if (network.shift_low.size() > 0) entry -= network.shift_low(k);
    if (scales) entry *= network.factor(k);
    length += entry * entry;
  }
  length = std::sqrt(length + static_cast<long double>(network.constant) * network.constant);
  const auto least = static_cast<double>(length) * (1 - 0x1p-20) - static_cast<double>(off);
  if (!(least > 0)) return kInfinite;
  return UpperBound(static_cast<double>(2 * off) / least * kUp) + single_gamma(d + 8) * h0 +
         root_of(d) * kLost;
}

}  // namespace

Matrix single_errors(const DeepNetwork& network, const std::vector<LayerNorms>& norms,
                     const Eigen::Ref<const RowMatrix>& X, const DeepEvaluation& e) {
  std::vector<LayerInSingle> layers;
  double before = spread_of(network.factor);
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const double spread = layer.scale == 1 ? 1 : spread_of(layer.scale);
    layers.push_back({linear_map(layer.W, layer.b, norms[l].W, before),
                      linear_map(layer.U, layer.bU, norms[l].U, layer.residual ? spread : 1),
                      activation_of(layer), std::abs(layer.scale), layer.residual, layer.U.size() == 0});
    before = layer.residual ? 1 : spread;
  }
  const Index n = X.rows(), K = network.outputs();
  std::vector<LinearMap> outputs;
  for (Index k = 0; k < K; ++k) {
    const RowMatrix row = network.V.row(k);
    const UpperBound size = norm_above(row);
    outputs.push_back({size, size, network.c.size() > 0 ? std::abs(network.c(k)) : 0, 1, row.cols(), before});
  }
  Matrix errors(n, K);
  for (Index i = 0; i < n; ++i) {
    UpperBound off = input_error(network, X.row(i), e.points.front().h(i));
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const LayerInSingle& layer = layers[l];
      const UpperBound h = e.points[l].h(i), s = layer.scale, a = e.points[l].a(i);
      const UpperBound lost = kLost * root_of(layer.inner.m);
      UpperBound active = layer.phi.B * layer.inner.error(h, off);
      if (!layer.phi.rectifier()) {
        const UpperBound z =
            layer.inner.spectral * (h + off) + layer.inner.bias;  // silu is z times a sigmoid
        active += layer.phi.piecewise_linear() ? 3 * kUnit * (a + active) + lost
                                               : kPhiSingle * (a + active + z + root_of(layer.inner.m));
        if (layer.phi.piecewise_linear() && *layer.phi.leak < kLost) active += *layer.phi.leak * z;
      }
      UpperBound size = a + active, branch = active;
      bool all_fit = fits(size);
      if (!layer.residual) {
        off = s * active;
        if (layer.scale != 1) off += 3 * kUnit * (s * size) + lost;
        all_fit = all_fit && fits(s * size + off);
      } else {
        const LinearMap& U = layer.outer;
        if (!layer.identity) branch = U.error(a, active);
        size = (layer.identity ? size : U.frobenius * size) + U.bias;
        off += s * branch;
        if (layer.scale < kLost) off += s * size;  // it may be flushed
        off +=
            6 * kUnit * (h + off + s * (size + branch)) + 3 * (kLost * root_of(network.layers[l].outputs()));
        all_fit = all_fit && fits(size + branch) && fits(h + off + s * size);
      }
      if (!all_fit) off = std::numeric_limits<double>::infinity();
    }
    for (Index k = 0; k < K; ++k)
      errors(i, k) =
          static_cast<double>(outputs[static_cast<std::size_t>(k)].error(e.points.back().h(i), off));
  }
  return errors;
}

}  // namespace zeroloss::internal::verified
