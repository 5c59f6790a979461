#pragma once
#include <memory>
#include <string>
#include <vector>

#include "zeroloss/core/matrix.hpp"
#include "zeroloss/linear/linear_resnet.hpp"

/// R = (I + A_l) .. (I + A_1) exactly, with every ||A_i|| of order 1/l: the three constructions of theory 10.
namespace zeroloss {

/// The size and the orientation of a map.
struct MapSummary {
  double s_max = 0, s_min = 0;  ///< singular values
  double gamma = 0;             ///< max(|log s_max|, |log s_min|); infinite if singular
  Index rank = 0;               ///< singular values above d 2^-52 s_max
  bool reverses = false;        ///< det R < 0
};
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
/// singular, with its rank: a product of I + A_i with all ||A_i|| < 1 never is.
OrientedProblem orient(const LinearProblem& problem, const std::string& reflection = "auto");

/// One factorisation.
struct Factorization {
  std::string name;                 ///< paper | polar | logarithm
  Index layers = 0;                 ///< l
  double max_norm = 0;              ///< max ||A_i||, of the stored factors
  double bound = 0;                 ///< what the construction promises, see Factorizer
  double reconstruction_error = 0;  ///< ||(I + A_l) .. (I + A_1) - R||_F
  LinearResnet network;             ///< no layers where `missing` says why there are none
  std::string missing;              ///< empty if it exists

  bool small() const;  ///< it exists and max_norm is below 1, by more than rounding
};

/// A map with det R > 0, decomposed once for factorisations of any depth. A_i is formed as it is used (with
/// expm1 and 2 sin^2 of half angles, never as W - I), so that the error of a factor is relative to ||A_i||
/// and that of the product hardly grows with l. reconstruction_error <= 1e-12 d max(||R||, 1e-3): paper and
/// polar keep it for condition numbers to 1e8 and more; what misses it, as the logarithm of an
/// ill-conditioned map may, is not handed out.
class Factorizer {
 public:
  /// Throws DataError if R is singular or has det R < 0. O(d^3), with a constant near 100.
  explicit Factorizer(const Matrix& R, const Progress& progress = {});
  ~Factorizer();
  Factorizer(Factorizer&&) noexcept;
  Factorizer& operator=(Factorizer&&) noexcept;

  double gamma() const;

  /// R = U K V^T, U and V^T of 2 q factors each, K of p, 4 q + p = l [HM, Thm 2.1]. bound = (4 pi + 3
  /// gamma)/l: the theorem's, for l >= 3 gamma and up to the rounding of p and q to integers. Most maps need
  /// l >= 5.
  Factorization paper(Index layers) const;

  /// R = Q P, Q in SO(d) with largest angle theta of q factors, P = P^T > 0 of p, q + p = l, balanced. bound
  /// = max(2 sin(theta/(2 q)), |k^(1/p) - 1|) over the singular values k of R. Exists for every l >= 1: a
  /// single layer is R - I, with bound 2 sin(theta/2) + max |k - 1|.
  Factorization polar(Index layers) const;

  /// l equal factors exp(log(R)/l), where R has no negative real eigenvalue and the principal logarithm
  /// reconstructs R. bound = exp(||log R||/l) - 1.
  Factorization logarithm(Index layers) const;

  /// The three, in this order. Throws Interrupted once cancelled.
  std::vector<Factorization> all(Index layers, const Progress& progress = {}) const;

  /// The least l for which polar or logarithm is small().
  Index layers_needed() const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace zeroloss
