#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/theory/guarantee.hpp"

/// The register of guarantees as training asks it: by id, never by title; and the input of all of them, as
/// certify and training build it.
namespace zeroloss::internal {

/// Whether the theorem speaks of networks with this activation and scaling.
bool covers(std::string_view id, const Activation& activation, std::string_view scaling);

/// Points up to which all eigenvalues are computed unasked: that takes seconds.
constexpr Index kEveryEigenvalue = 3000;

/// Of the distinct points: bounds of what the theorems' lambdas are made of.
struct PointBounds {
  LambdaSource lambda;                        ///< lambda_min(Sigma)
  std::optional<LambdaSource> product = {};   ///< lambda_min(G o G); its name is given to it
  std::optional<LambdaSource> features = {};  ///< lambda_min(Sigma~); if none, that of `product`
  double separation = 0;                      ///< delta, a proven lower bound
};

/// mu^2 times the bound of a power of G.
LambdaSource scaled(const LambdaSource& source, double mu, std::string name, bool tabulated);

/// All that does not depend on labels. n and norm_X are those of all samples, d is the number of features.
GuaranteeInput guarantee_input(const Activation& phi, double n, double d, double norm_X,
                               const PointBounds& bounds);

/// The lambda that a theorem takes of an input, the first if there are several; empty if none is given.
std::optional<LambdaSource> lambda_of(std::string_view id, const Activation& phi,
                                      const GuaranteeInput& input);

/// Where a run stands that a theorem is put beside.
struct Course {
  double n = 0, width = 0, lambda = 0;
  double norm_X = 0;    ///< ||X||
  double norm_y = 0;    ///< ||y||
  double start = 0;     ///< ||r_0||
  double rate = 0;      ///< Guarantee::rate at the run's step
  double k = 0;         ///< steps taken; flow: the time
  double residual = 0;  ///< ||r_k||
};

/// What a theorem says of it; empty where it says nothing.
struct CourseBounds {
  std::optional<double> residual = {};      ///< of ||r_k||
  std::optional<double> max_distance = {};  ///< of max_j ||w_j - w_j(0)||
  std::optional<double> distance = {};      ///< of ||W_k - W_0||_F
  std::optional<double> path_length = {};   ///< of the sum of all ||W_(i+1) - W_i||_F
};
CourseBounds bounds_along(std::string_view id, const Course& course);

}  // namespace zeroloss::internal
