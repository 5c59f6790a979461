#pragma once
#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "network/prepare.hpp"
#include "proof/certified_points.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/width/width.hpp"

/// What `width` looks at, one width at a time.
namespace zeroloss::internal {

/// How long a search may still go on.
class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  double left() const { return seconds_ - seconds_since(began_); }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// rank(X), bounded from above in exact arithmetic: by the columns that are neither zero nor repeated, and by
/// elimination where that is cheap. `points` are those of exact_points().
Index rank_bound(const RowMatrix& points, const Center& center);

/// Whether phi(a z) = a^k phi(z) for a > 0, so that the size of an output weight is one of W: relu and its
/// relatives, z^2/2.
bool homogeneous(const Activation& activation);

/// Hidden units without which almost no real targets of n distinct points can be fitted: m rank < n. Nothing
/// where no width suffices (quadratic: rank (rank + 1)/2 < n).
std::optional<Index> necessary_width(const Activation& activation, Index n, Index rank);

/// Draws networks of pairs of this width, seeds options.seed, .. + draws - 1, and looks for what is proved
/// at `points`, the distinct ones of the set. At least one is looked at, more as long as the deadline lets.
DrawnWidth draw_width(const TrainingSet& set, const CertifiedPoints& points, const Activation& activation,
                      Index width, const WidthOptions& options, const Deadline& deadline, Progress& progress);

/// The distinct points in groups, each linearly independent and with no other point in its span, in exact
/// arithmetic (theory 13): the fewest of several random orders, options.draws of them or one. Empty if there
/// are none (opposite points), or time is over. `points` are those of exact_points(), of which `rows` are
/// taken. Cost: d/2 products for each of their numbers, and some ten passes over them a group.
std::vector<std::vector<Index>> biased_groups(const RowMatrix& points, const Center& center,
                                              const std::vector<Index>& rows, const WidthOptions& options,
                                              const Deadline& deadline, Progress& progress);

/// Gauss-Newton from drawn weights, seeds options.seed, .. + restarts - 1, until a certificate holds: then
/// `found` is what it ended with.
MeasuredWidth measure_width(const Dataset& data, Index width, const WidthOptions& options,
                            const Deadline& deadline, Progress& progress,
                            std::shared_ptr<const FitResult>& found);

}  // namespace zeroloss::internal
