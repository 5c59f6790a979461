#pragma once
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/linear/linear_resnet.hpp"

/// R = (I + A_l) .. (I + A_1) exactly, with every ||A_i|| of order 1/l: the three constructions of theory 10.
/// What is called proved holds in exact arithmetic, rounding included.
namespace zeroloss {

/// The size and the orientation of a map.
struct MapSummary {
  double s_max = 0, s_min = 0;  ///< singular values, computed
  double s_least = 0;           ///< s_min is at least this, proved; 0: R is numerically singular
  double gamma = 0;       ///< max(|log s_max|, |log s_min|) is at most this, proved; infinite without s_least
  Index rank = 0;         ///< computed singular values above d 2^-52 s_max
  bool reverses = false;  ///< det R < 0; the sign is proved where s_least > 0
};
template <Is<MapSummary> T, class Visitor>
void fields(T& m, const Visitor& visit) {
  visit(Field{"s_max", "Computed."}, m.s_max);
  visit(Field{"s_min", "Computed."}, m.s_min);
  visit(Field{"s_least", "Lower bound of s_min, proved."}, m.s_least);
  visit(Field{"gamma", "Upper bound of max(|log s_max|, |log s_min|), proved."}, m.gamma);
  visit(Field{"rank", "Computed."}.apart(), m.rank);
  visit(Field{"reverses", "det R < 0, proved."}.apart(), m.reverses);
}
MapSummary summarize_map(const Matrix& R);

/// A problem whose map has det R > 0, and how it came from one that may not have.
struct OrientedProblem {
  LinearProblem problem;
  MapSummary map;         ///< of R as it was given
  std::string treatment;  ///< none | flipped (labels: y -> -y) | augmented (x -> [x, b], y -> [y, -b])
};

/// `reflection` says what to do when det R < 0. flip: R -> -R, for odd d. augment: one coordinate more, R ->
/// diag(R, -1); b has variance tr(Sigma)/d and correlation 1/2 with x, along a fixed direction, for with an
/// independent b gradient descent from A = 0 never gets there (theory 10). auto: flip for odd d, augment for
/// even d. Throws std::invalid_argument for another word and for flip with even d; DataError if R is
/// numerically singular, with its figures: a product of I + A_i with all ||A_i|| < 1 is never singular.
OrientedProblem orient(const LinearProblem& problem, const std::string& reflection = "auto");

/// One factorisation: stored layers, and beside them the proof that R is exactly such a product. Numbers are
/// infinite where there is none.
struct Factorization {
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  std::string name;  ///< paper | polar | logarithm
  Index layers = 0;  ///< l
  /// R is exactly a product of l layers with every ||A_i|| <= this, proved. So are the stored layers.
  double max_norm = kNone;
  double bound = kNone;  ///< what the construction promises, see Factorizer
  /// Of the stored layers: ||(I + A_l) .. (I + A_1) - R||_F <= this, proved.
  double reconstruction_error = kNone;
  /// The exact factorisation differs from the stored one in one layer, by at most this in norm, proved.
  double correction = kNone;
  LinearResnet network;  ///< no layers where `missing` says why there are none
  std::string missing;   ///< empty if it exists

  bool small() const;  ///< it exists and max_norm < 1
};
template <Is<Factorization> T, class Visitor>
void fields(T& f, const Visitor& visit) {
  const bool exists = f.missing.empty();
  visit(Field{"name", "paper | polar | logarithm."}, f.name);
  visit(Field{"layers"}, f.layers);
  visit(Field{"max_norm",
              "R is exactly a product of layers with every ||A_i|| <= this, proved; so are the stored ones."}
            .only_if(exists),
        f.max_norm);
  visit(Field{"bound", "What the construction promises for it, computed."}, f.bound);
  visit(Field{"reconstruction_error", "Upper bound of ||(I + A_l) .. (I + A_1) - R||_F, proved."}.only_if(
            exists),
        f.reconstruction_error);
  visit(Field{"correction",
              "The exact factorisation differs in one layer from the stored one, by at most this, proved."}
            .only_if(exists),
        f.correction);
  visit(Field{"network", "No layers where `missing` says why; kept at the last depth only."}.apart(),
        f.network);
  visit(Field{"missing", "Why it does not exist; empty if it does."}.apart(), f.missing);
}

/// A map with det R > 0, decomposed once for factorisations of any depth. A_i is formed as it is used (with
/// expm1 and 2 sin^2 of half angles, never as W - I), so that the error of a factor is relative to ||A_i||
/// and that of the product hardly grows with l. The computed product is within 1e-12 d max(||R||, 1e-3) of R:
/// paper and polar keep that for condition numbers to 1e8 and more; what misses it, as the logarithm of an
/// ill-conditioned map may, is not handed out, nor is what no exact factorisation is proved to be near.
class Factorizer {
 public:
  /// Throws DataError if R is numerically singular or has det R < 0. O(d^3), with a constant near 100.
  explicit Factorizer(const Matrix& R, const Progress& progress = {});
  ~Factorizer();
  Factorizer(Factorizer&&) noexcept;
  Factorizer& operator=(Factorizer&&) noexcept;

  double gamma() const;  ///< MapSummary::gamma

  /// R = U K V^T, U and V^T of 2 q factors each, K of p, 4 q + p = l [HM, Thm 2.1]. bound = (4 pi + 3
  /// gamma)/l for l >= max(2, 3 gamma), else infinite: the theorem's. `polar` is proved to have it, this one
  /// up to the rounding of p and q to integers. Most maps need l >= 5.
  Factorization paper(Index layers) const;

  /// R = Q P, Q in SO(d) with largest angle theta of q factors, P = P^T > 0 of p, q + p = l, balanced. bound
  /// = max(2 sin(theta/(2 q)), |k^(1/p) - 1|) over the singular values k of R, computed. Exists for every l
  /// >= 1: a single layer is R - I, with bound 2 sin(theta/2) + max |k - 1|.
  Factorization polar(Index layers) const;

  /// l equal factors exp(log(R)/l), where R has no negative real eigenvalue and the principal logarithm
  /// reconstructs R. bound = exp(||log R||/l) - 1, computed.
  Factorization logarithm(Index layers) const;

  /// The three, in this order. Throws Interrupted once cancelled.
  std::vector<Factorization> all(Index layers, const Progress& progress = {}) const;

  /// The least l for which polar or logarithm is small(); 0 if rounding leaves none that is proved to be.
  Index layers_needed() const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace zeroloss
