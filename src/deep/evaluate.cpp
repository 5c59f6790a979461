#include "deep/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel_for.hpp"
#include "linalg/tiled.hpp"
#include "linalg/upper_bound.hpp"
#include "proof/evaluate.hpp"
#include "zeroloss/base/threads.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Comparisons are written
// so that NaN fails them.
namespace zeroloss::internal::verified {
namespace {

using Long = long double;

constexpr double kPhi = 17 * u, kPhiAbsolute = 5 * u + 2 * kTiny;  // as in proof/evaluate.cpp

double root(Index k) { return std::sqrt(static_cast<double>(k)) * kUp; }

double length_of(const double* a, Index count) {
  Long squares = 0;
  for (Index k = 0; k < count; ++k) squares += static_cast<Long>(a[k]) * a[k];
  return squares > 0 ? static_cast<double>(std::sqrt(squares)) * kUp + kTiny : static_cast<double>(squares);
}

double frobenius(const RowMatrix& A) { return length_of(A.data(), A.size()); }

// NaN if one is.
double largest(const Vector& sizes) { return sizes.maxCoeff<Eigen::PropagateNaN>(); }

// What every point has of one layer, while it goes through.
struct Walker {
  const Layer& layer;
  const LayerNorms& norms;
  Activation phi;
  double W = frobenius(layer.W), b = length_of(layer.b.data(), layer.b.size());
  double U = frobenius(layer.U), bU = length_of(layer.bU.data(), layer.bU.size());
  bool linear = phi.leak.has_value();  // z >= 0 and z < 0 are exact; at most one rounding
  bool exact = linear && (phi.leak == 0.0 || phi.leak == 1.0);

  // h, the layer's input at one point, to z, a and the next h; sizes at index i.
  void step(const double* h, Index i, LayerValues& values, PointSizes& sizes, double* next,
            double& next_error) const {
    const Index m = layer.units(), p = layer.inputs();
    const UpperBound before = sizes.h(i), off = sizes.h_error(i), s = std::abs(layer.scale);
    std::vector<double> z(static_cast<std::size_t>(m)), a(z);
    double steepest = 0, smallest = std::numeric_limits<double>::infinity();
    for (Index j = 0; j < m; ++j) {
      Long sum = long_dot(layer.W.data() + j * p, h, p);
      if (layer.b.size() > 0) sum += layer.b(j);
      z[j] = static_cast<double>(sum);
      a[j] = phi.phi(z[j]);
      values.z(i, j) = z[j];
      values.a(i, j) = a[j];
      steepest = std::max(steepest, std::abs(phi.dphi(z[j])));
      smallest = std::min(smallest, std::abs(z[j]));
    }
    const UpperBound z_local = long_gamma(p + 4) * (W * UpperBound(length_of(h, p)) + b) +
                               u * UpperBound(length_of(z.data(), m)) + kTiny * root(m);
    const UpperBound shift = norms.W * off + z_local, curvature = phi.smooth() ? phi.M : 0;
    const double relative = exact ? 0 : linear ? u : kPhi, slope_relative = linear ? 0 : kPhi;
    const double absolute = linear ? 0 : kPhiAbsolute;
    sizes.z_error(i) = static_cast<double>(shift);
    sizes.uncertain(i) = phi.smooth() || smallest > sizes.z_error(i) ? 0 : 1;
    const UpperBound slope_error = steepest * UpperBound(slope_relative) + absolute + curvature * shift;
    sizes.slope_error(i) = static_cast<double>(slope_error);
    sizes.slope(i) = std::min(phi.B, static_cast<double>(steepest + slope_error));
    // Between the stored and the exact z; a kink may lie between them.
    const UpperBound between = linear ? phi.B : sizes.slope(i), size = length_of(a.data(), m);
    const UpperBound a_rounding = relative * size + 2 * kTiny * root(m),
                     a_local = between * z_local + a_rounding;
    const UpperBound a_error = between * shift + a_rounding;
    sizes.a_error(i) = static_cast<double>(a_error);
    sizes.a(i) = static_cast<double>(size + a_error);
    const Index out = layer.outputs();
    UpperBound through = s, rounding;
    if (!layer.residual) {
      for (Index k = 0; k < out; ++k) next[k] = layer.scale * a[k];
    } else {
      for (Index k = 0; k < out; ++k) {
        Long branch = layer.U.size() > 0 ? long_dot(layer.U.data() + k * m, a.data(), m) : Long{a[k]};
        if (layer.bU.size() > 0) branch += layer.bU(k);
        next[k] = static_cast<double>(h[k] + static_cast<Long>(layer.scale) * branch);
      }
      through = through * (layer.U.size() > 0 ? norms.U : 1);
      rounding = long_gamma(m + 8) * (s * ((layer.U.size() > 0 ? U : 1) * size + bU) + before);
    }
    rounding += u * UpperBound(length_of(next, out)) + kTiny * root(out);
    sizes.h_local(i) = static_cast<double>(through * a_local + rounding);
    next_error = static_cast<double>((layer.residual ? off : UpperBound()) + through * a_error + rounding);
  }
};

void resize(PointSizes& sizes, Index n) {
  for (Vector* v : {&sizes.h, &sizes.h_error, &sizes.h_local, &sizes.z_error, &sizes.a, &sizes.a_error,
                    &sizes.slope, &sizes.slope_error, &sizes.uncertain})
    v->setZero(n);
}

// Sizes and errors of the backward pass, layer after layer, as visit() sees them.
class RowBounds {
 public:
  RowBounds(const DeepNetwork& network, const std::vector<LayerNorms>& norms, DeepEvaluation& e, Index K)
      : network_(network), norms_(norms), e_(e), K_(K), N_(e.pass.f.rows() * K) {
    u_error_.resize(N_);
    for (Index r = 0; r < N_; ++r)  // the weight times an entry of V: one rounding
      u_error_(r) =
          static_cast<double>(u * UpperBound(e.weights(r / K)) *
                                  length_of(network.V.data() + (r % K) * network.V.cols(), network.V.cols()) +
                              kTiny * root(network.V.cols()));
  }

  void operator()(std::size_t l, const Matrix& U, const Matrix& Q, const Matrix& G) {
    const Layer& layer = network_.layers[l];
    const PointSizes& points = e_.points[l];
    RowSizes& sizes = e_.rows[l];
    const UpperBound s = std::abs(layer.scale), product = frobenius(layer.U), W = frobenius(layer.W);
    const UpperBound underflow = 4 * kTiny * static_cast<double>(layer.units() + layer.outputs());
    const Vector u_stored = row_norms(U), q_stored = row_norms(Q), g_stored = row_norms(G);
    for (Vector* v : {&sizes.u, &sizes.u_error, &sizes.q, &sizes.q_largest, &sizes.g, &sizes.g_error})
      v->resize(N_);
    for (Index r = 0; r < N_; ++r) {
      sizes.q_largest(r) = Q.row(r).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
      const Index i = r / K_;
      const UpperBound u_error = u_error_(r), u_size = u_stored(r), g_size = g_stored(r);
      UpperBound q_error = u_error;
      if (layer.U.size() > 0)
        q_error = norms_[l].U * q_error + gamma_of(static_cast<double>(layer.outputs())) * product * u_size +
                  underflow * root(layer.units());
      sizes.u(r) = static_cast<double>(u_size + u_error);
      sizes.u_error(r) = u_error_(r);
      sizes.q(r) = static_cast<double>(q_stored(r) + q_error);
      sizes.q_largest(r) = static_cast<double>(sizes.q_largest(r) + q_error);
      // g = s (phi' q): phi' q is rounded, or flushed to 0, and then s times that.
      const UpperBound g_error =
          s * (points.slope(i) * q_error + q_stored(r) * UpperBound(points.slope_error(i))) + 3 * u * g_size +
          underflow * (1 + s);
      sizes.g_error(r) = static_cast<double>(g_error);
      sizes.g(r) = static_cast<double>(g_size + g_error);
      UpperBound next = norms_[l].W * g_error +
                        gamma_of(static_cast<double>(layer.units()) + 2) * W * g_size +
                        underflow * root(layer.inputs());
      if (layer.residual) next += u_error + 2 * u * (u_size + W * g_size);
      u_error_(r) = static_cast<double>(next);
    }
  }

 private:
  Vector row_norms(const Matrix& A) const {
    Vector squares = Vector::Zero(N_), largest = Vector::Zero(N_);
    for (Index j = 0; j < A.cols(); ++j) largest = largest.cwiseMax(A.col(j).cwiseAbs());
    // Squares are of numbers up to 1, among them 1: what underflows is nothing beside it. NaN stays.
    for (Index j = 0; j < A.cols(); ++j)
      squares.array() +=
          (largest.array() > 0).select(A.col(j).array() / largest.array(), A.col(j).array()).square();
    return (squares.array().sqrt() * largest.array() * kUp + (largest.array() > 0).cast<double>() * kTiny)
        .matrix();
  }

  const DeepNetwork& network_;
  const std::vector<LayerNorms>& norms_;
  DeepEvaluation& e_;
  Index K_, N_;
  Vector u_error_;
};

// ||J - J of the stored factors||_F over all rows.
double jacobian_error_of(const DeepNetwork& network, const DeepEvaluation& e, const Moving& moving) {
  const Index K = network.outputs();
  UpperBound squares;
  const auto add = [&](UpperBound entry) { squares += entry * entry; };
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    if (!moving[l]) continue;
    const Layer& layer = network.layers[l];
    const PointSizes& points = e.points[l];
    const RowSizes& rows = e.rows[l];
    const UpperBound s = std::abs(layer.scale);
    for (Index r = 0; r < rows.g.size(); ++r) {
      const Index i = r / K;
      const UpperBound g = rows.g(r), g_error = rows.g_error(r), u_size = rows.u(r),
                       u_error = rows.u_error(r);
      add(g_error * points.h(i) + (g + g_error) * points.h_error(i));
      if (layer.b.size() > 0) add(g_error);
      if (layer.U.size() > 0) add(s * (u_error * points.a(i) + (u_size + u_error) * points.a_error(i)));
      if (layer.bU.size() > 0) add(s * u_error);
    }
  }
  if (moving.back())
    for (Index i = 0; i < e.weights.size(); ++i)
      for (Index k = 0; k < K; ++k) add(e.weights(i) * UpperBound(e.points.back().h_error(i)));
  return static_cast<double>(sqrt(squares));
}

}  // namespace

double long_gamma(Index k) { return kLongUnit * static_cast<double>(k) * kUp; }

std::vector<LayerNorms> layer_norms(const DeepNetwork& network, Progress& progress) {
  std::vector<LayerNorms> norms;
  for (const Layer& layer : network.layers) {
    Vector rows(layer.units());
    for (Index j = 0; j < rows.size(); ++j)
      rows(j) = length_of(layer.W.data() + j * layer.inputs(), layer.inputs());
    norms.push_back(
        {spectral_norm(layer.W, progress), layer.U.size() > 0 ? spectral_norm(layer.U, progress) : 1, rows});
  }
  return norms;
}

namespace {

// h_0 of a point.
class InputMap {
 public:
  explicit InputMap(const DeepNetwork& network) : network_(network) {}

  // To h; returns what it is off by.
  template <class Row>
  double at(const Row& x, double* h) const {
    const Index d = x.size(), inputs = d + (network_.constant != 0 ? 1 : 0);
    std::vector<Long> exact(static_cast<std::size_t>(inputs), Long{network_.constant});
    Long squares = 0;
    for (Index k = 0; k < d; ++k) {
      exact[k] = x(k);
      if (network_.shift.size() > 0) exact[k] -= network_.shift(k);
      if (network_.shift_low.size() > 0) exact[k] -= network_.shift_low(k);
      if (network_.factor.size() > 0) exact[k] *= network_.factor(k);
    }
    for (const Long entry : exact) squares += entry * entry;
    const Long length = network_.unit ? std::sqrt(squares) : 1;
    for (Index k = 0; k < inputs; ++k) h[k] = static_cast<double>(exact[k] / length);
    if (network_.shift.size() == 0 && network_.factor.size() == 0 && !network_.unit) return 0;
    // Each entry is rounded to double once; before that a difference, a product and the length are. Two
    // differences with shift_low: the first is exact where x is within twice the shift, and elsewhere so
    // large that the second takes next to nothing of it, so that both are relative errors of what is left.
    return ((u + long_gamma(inputs + 10)) * 1.001 * length_of(h, inputs) + kTiny * root(inputs)) * kUp;
  }

 private:
  const DeepNetwork& network_;
};

// Forward in long double: pass, points and f_error, what f is off by as layers hand errors on; `f_local` gets
// what it is off by for the stored h_L.
void go_forward(const DeepNetwork& network, const std::vector<LayerNorms>& norms,
                const Eigen::Ref<const RowMatrix>& X, DeepEvaluation& e, Matrix& f_local,
                Progress& progress) {
  ForwardPass& pass = e.pass;
  std::vector<PointSizes>& points = e.points;
  const Index n = X.rows(), d = network.layers.front().inputs(), K = network.outputs();
  const std::size_t L = network.layers.size();
  pass.h0.resize(n, network.layers.front().inputs());
  pass.layers.resize(L);
  pass.f.resize(n, K);
  e.f_error.resize(n, K);
  f_local.resize(n, K);
  points.resize(L + 1);
  std::vector<Walker> walkers;
  Index widest = d;
  for (std::size_t l = 0; l < L; ++l) {
    const Layer& layer = network.layers[l];
    walkers.push_back({layer, norms[l], activation_of(layer)});
    pass.layers[l].z.resize(n, layer.units());
    pass.layers[l].a.resize(n, layer.units());
    pass.layers[l].h.resize(n, layer.outputs());
    widest = std::max({widest, layer.units(), layer.outputs()});
  }
  for (PointSizes& sizes : points) resize(sizes, n);
  Vector V(K);
  for (Index k = 0; k < K; ++k) V(k) = length_of(network.V.data() + k * network.V.cols(), network.V.cols());
  const InputMap input(network);
  const Threads threads(static_cast<double>(n) * static_cast<double>(parameters(network)));
  const auto go = [&](Index i, std::vector<double>& h, std::vector<double>& next) {
    double error = input.at(X.row(i), h.data());
    for (Index k = 0; k < d; ++k) pass.h0(i, k) = h[k];
    for (std::size_t l = 0; l < L; ++l) {
      points[l].h_error(i) = error;
      points[l].h(i) = (length_of(h.data(), network.layers[l].inputs()) + error) * kUp;
      walkers[l].step(h.data(), i, pass.layers[l], points[l], next.data(), error);
      for (Index k = 0; k < network.layers[l].outputs(); ++k) pass.layers[l].h(i, k) = next[k];
      h.swap(next);
    }
    const Index p = network.V.cols();
    const double stored = length_of(h.data(), p);
    points[L].h_error(i) = error;
    points[L].h(i) = (stored + error) * kUp;
    for (Index k = 0; k < K; ++k) {
      const Long c = network.c.size() > 0 ? network.c(k) : 0;
      pass.f(i, k) = static_cast<double>(long_dot(network.V.data() + k * p, h.data(), p) + c);
      f_local(i, k) = static_cast<double>(long_gamma(p + 4) *
                                              (V(k) * UpperBound(stored) + std::abs(static_cast<double>(c))) +
                                          u * UpperBound(std::abs(pass.f(i, k))) + kTiny);
      e.f_error(i, k) = static_cast<double>(V(k) * UpperBound(error) + f_local(i, k));
    }
  };
  constexpr Index kPoints = 16, kBlocks = 64;
  const auto values = [&] { return std::vector<double>(static_cast<std::size_t>(widest)); };
  const auto scratch = [&] { return std::pair(values(), values()); };
  for (Index begin = 0; begin < n; begin += kBlocks * kPoints) {
    progress.check();
    const Index end = std::min(n, begin + kBlocks * kPoints);
    parallel_for((end - begin + kPoints - 1) / kPoints, scratch, [&](auto& own, Index block) {
      const Index first = begin + block * kPoints;
      for (Index i = first; i < std::min(end, first + kPoints); ++i) go(i, own.first, own.second);
    });
  }
}

// f - f~ is what each layer adds, carried on by the gradient of what is behind it, somewhere between the
// stored and the exact values: by the sizes of u, which hold there. Where the sign at a kink is not certain
// there is none.
void carry_errors(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const Matrix& f_local,
                  DeepEvaluation& e) {
  const Index n = e.pass.f.rows(), K = network.outputs();
  const std::size_t L = network.layers.size();
  for (Index i = 0; i < n; ++i) {
    bool certain = true;
    for (std::size_t l = 0; l < L; ++l) certain = certain && e.points[l].uncertain(i) == 0;
    if (!certain) continue;
    for (Index k = 0; k < K; ++k) {
      const Index r = i * K + k;
      const UpperBound first = norms.front().W * UpperBound(e.rows.front().g(r)) +
                               (network.layers.front().residual ? e.rows.front().u(r) : 0);
      UpperBound sum = first * e.points.front().h_error(i);
      for (std::size_t l = 0; l < L; ++l) sum += e.rows[l].u(r) * UpperBound(e.points[l].h_local(i));
      const auto carried = static_cast<double>(sum * (kUp / e.weights(i)) + f_local(i, k));
      if (carried < e.f_error(i, k)) e.f_error(i, k) = carried;
    }
  }
}

}  // namespace

double misfit(const DeepEvaluation& e, const Matrix& targets) {
  UpperBound squares;
  for (Index i = 0; i < targets.rows(); ++i)
    for (Index k = 0; k < targets.cols(); ++k) {
      const double r = e.pass.f(i, k) - targets(i, k);
      const UpperBound most = e.weights(i) * (std::abs(r) * UpperBound(1 + 2 * u) + e.f_error(i, k));
      squares += most * most;
    }
  return static_cast<double>(sqrt(squares));
}

DeepEvaluation evaluate(const DeepNetwork& network, const std::vector<LayerNorms>& norms,
                        const Eigen::Ref<const RowMatrix>& X, const Vector& weights, const Moving& moving,
                        Progress& progress) {
  DeepEvaluation e;
  e.weights = weights;
  Matrix f_local;
  go_forward(network, norms, X, e, f_local, progress);
  e.rows.resize(network.layers.size());
  progress.check();
  e.back = backward(network, e.pass, moving, weights, RowBounds(network, norms, e, network.outputs()));
  carry_errors(network, norms, f_local, e);
  e.jacobian_error = jacobian_error_of(network, e, moving);
  double terms = 0;
  UpperBound lost;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    if (!moving[l]) continue;
    const Layer& layer = network.layers[l];
    const auto m = static_cast<double>(layer.units()), p = static_cast<double>(layer.inputs());
    terms = std::max(terms, m + p);
    const UpperBound h = largest(e.points[l].h), a = largest(e.points[l].a), g = largest(e.rows[l].g),
                     q = largest(e.rows[l].u), s = std::max(1.0, std::abs(layer.scale));
    lost += 4 * kTiny * s * s * (m * (h * h + a * a + 2) + p * (g * g + q * q) + m + p + 2);
  }
  const UpperBound h = largest(e.points.back().h), w = largest(weights);
  terms = std::max(terms, static_cast<double>(network.V.cols()) + 2);
  lost += 4 * kTiny * (static_cast<double>(network.V.cols()) * w * w + h * h + 2);
  e.rounding_terms = terms + 4 * static_cast<double>(network.layers.size()) + 12;
  e.lost = static_cast<double>(lost);
  return e;
}

}  // namespace zeroloss::internal::verified
