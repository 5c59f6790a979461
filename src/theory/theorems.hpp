#pragma once
#include <optional>
#include <string_view>

#include "zeroloss/theory/guarantee.hpp"

/// The register of guarantees as training asks it: by id, never by title.
namespace zeroloss::internal {

/// Whether the theorem speaks of networks with this activation and scaling.
bool covers(std::string_view id, const Activation& activation, std::string_view scaling);

/// Whether its lambda is mu_1^2 lambda_min(G o G), so that GuaranteeInput::lambda_product must be given.
bool needs_product(std::string_view id);

/// Where a run stands that a theorem is put beside.
struct Course {
  double n = 0, width = 0, lambda = 0;
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
