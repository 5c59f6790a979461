#pragma once
#include <memory>

#include "audit/similarity.hpp"
#include "zeroloss/processes/process_group.hpp"

/// K + ridge I of all samples, factored: in this process, or dealt to those of a Group.
namespace zeroloss::internal {

class RidgeFactor {
 public:
  RidgeFactor() = default;
  virtual ~RidgeFactor() = default;
  RidgeFactor(const RidgeFactor&) = delete;
  RidgeFactor& operator=(const RidgeFactor&) = delete;

  virtual Matrix solve(const Matrix& V) const = 0;
  virtual Vector inverse_diagonal(Progress& progress) const = 0;
};

/// Throws DataError where K + ridge I is not numerically positive definite, ResourceError, Interrupted.
std::unique_ptr<RidgeFactor> factored(Packed<double> K, double ridge, Progress& progress);
std::unique_ptr<RidgeFactor> factored(const Group& group, const Similarity& similarity,
                                      const Features& features, double ridge, Nearest& nearest,
                                      Progress& progress);
[[noreturn]] void not_definite(double ridge);

/// Of one process of the group, the most of any, for features with so many columns together.
double dealt_bytes(const Group& group, Index n, Index columns);

constexpr const char* kAuditService = "similarities";
void serve_similarities(const Group& group);

}  // namespace zeroloss::internal
