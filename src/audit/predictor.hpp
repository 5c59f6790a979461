#pragma once
#include <vector>

#include "audit/ridge_factorization.hpp"
#include "audit/similarity.hpp"

/// Kernel ridge regression that knows what it would be without any one of its samples.
namespace zeroloss::internal {

/// f(x) = sum_j h_j(x) Y_j, linear in the targets. With H_ij = h_j(x_i) and G = I - H, symmetric and positive
/// definite, R = G Y are the residuals, R_i / G_ii those without sample i, and without sample j as well
///
///     (G_jj R_i - G_ij R_j) / (G_ii G_jj - G_ij^2);
///
/// f(x) less what f(x) is without sample j is h_j(x) R_j / G_jj (theory 14). All exactly, for columns, ranks,
/// middle of the targets and ridge as they are.
class Predictor {
 public:
  /// C = (K + ridge I)^-1 Y for K of all samples, factored with this ridge: G = ridge (K + ridge I)^-1. Y n x
  /// c. Throws ResourceError, Interrupted.
  Predictor(const Similarity& similarity, const Features& X, std::unique_ptr<RidgeFactor> all, double ridge,
            const Matrix& Y, Progress& progress);

  /// A = (K_mn K_nm + ridge K_mm)^-1 K_mn Y of m samples as inducing points. 2 n m^2 multiply-adds.
  Predictor(const Similarity& similarity, const Features& X, const std::vector<Index>& inducing, double ridge,
            const Matrix& Y, Nearest* nearest, Progress& progress);

  const Matrix& residuals() const { return R_; }  ///< n x c, with all samples
  const Vector& diagonal() const { return G_; }   ///< G_ii
  /// n x c: residuals of each sample without itself, R_i / G_ii.
  Matrix left_out() const { return R_.array().colwise() / G_.array(); }
  Index n() const { return G_.size(); }

  Matrix columns(const std::vector<Index>& which) const;  ///< of G: n x k
  /// Of points: outputs t x c, and of each the nearest sample (of inducing ones, if it has these); h: n x t.
  Matrix predict(const Features& points, Nearest* nearest = nullptr) const;
  Matrix weights(const Features& points) const;

 private:
  const Similarity& similarity_;
  const Features& X_;
  std::vector<Index> which_;  // are inducing points
  Features inducing_;         // empty: all
  double ridge_;
  std::unique_ptr<RidgeFactor> all_;  // of all samples, or null
  Packed<double> L_;                  // of the inducing ones
  Matrix coefficients_, R_;
  Vector G_;
};

/// What leave-one-out says of ridges, of samples drawn for that: the least sum of squares.
struct Choice {
  double ridge = 0, error = 0;
};
/// error: of the sum of squares of Y. `ridges` > 0.
Choice choose_ridge(const Packed<double>& K, const Matrix& Y, const std::vector<double>& ridges,
                    Progress& progress);

}  // namespace zeroloss::internal
