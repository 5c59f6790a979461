// The smallest eigenvalue of a kernel of one's own points, proved, with zeroloss::kernel alone: no reader of
// files, tables or networks comes with it.
#include <cmath>
#include <cstdio>
#include <zeroloss/kernel/spectrum.hpp>
#include <zeroloss/linalg/unit_rows.hpp>

int main() {
  // 60 points on a spiral.
  zeroloss::RowMatrix X(60, 3);
  for (zeroloss::Index i = 0; i < X.rows(); ++i) {
    const double t = 0.2 * static_cast<double>(i);
    X.row(i) << std::cos(t), std::sin(t), 0.3 * t;
  }
  if (!zeroloss::unit_rows(X).empty()) return 1;  // a point has no direction

  zeroloss::Progress progress;
  const auto kernel = zeroloss::sigma(zeroloss::activation("relu"));
  const auto found = zeroloss::lambda_min(X, kernel, progress);
  if (!found.verified.holds) {
    std::puts("nothing is proved in double precision");
    return 1;
  }
  std::printf("lambda_min >= %.6g, proved\n", found.verified.lambda_min);
}
