#include "zeroloss/network/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/parallel_for.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss {
using namespace internal;
namespace {

/// How good each candidate is, a row of C: min_i |<c, x_i>|/||x_i|| >= 0 where it splits the points, else
/// below 0, the less the less even the sides are. No bit depends on threads.
Vector merit(const RowMatrix& C, const RowMatrix& X, const Vector& lengths) {
  constexpr Index kRows = 256;
  constexpr double kLeast = 0.25;  // of the points, on either side
  const Index n = X.rows(), parts = (n + kRows - 1) / kRows;
  Matrix least(C.rows(), parts), above(C.rows(), parts);
  parallel_for(parts, [&](Index part) {
    const Index first = part * kRows, rows = std::min(kRows, n - first);
    const Matrix Z = X.middleRows(first, rows) * C.transpose();
    least.col(part) = (Z.cwiseAbs().array().colwise() / lengths.segment(first, rows).array())
                          .colwise()
                          .minCoeff()
                          .transpose();
    above.col(part) = (Z.array() > 0).cast<double>().colwise().sum().transpose();
  });
  Vector merits = least.rowwise().minCoeff();
  for (Index k = 0; k < merits.size(); ++k) {
    const double fraction = above.row(k).sum() / static_cast<double>(n);
    if (fraction >= kLeast && fraction <= 1 - kLeast) continue;
    merits(k) = -std::abs(fraction - 0.5) - (fraction < 0.5 ? 1e-9 : 0);  // rather active than not
  }
  return merits;
}

}  // namespace

TwoLayer draw_pairs(const Draw& start, const Activation& activation, const RowMatrix& X) {
  if (start.width < 2 || start.width % 2 != 0)
    throw std::invalid_argument(fmt::format("width must be even for pairs; got {}", start.width));
  if (X.cols() != start.d)
    throw std::invalid_argument(
        fmt::format("pairs of {} inputs for points of {} features", start.d, X.cols()));
  Draw narrow = start;
  narrow.scaling = "ntk";
  narrow.width = 1;
  static_cast<void>(draw(narrow));  // refuses what is out of range
  const Index q = start.width / 2;
  TwoLayer network{RowMatrix(start.width, start.d), Vector(start.width)};
  const bool kinked = activation.piecewise_linear();
  const Vector lengths = X.rowwise().norm().cwiseMax(std::numeric_limits<double>::min());
  Random normals(start.seed, Stream::weights, start.index);
  RowMatrix candidates(kinked ? kCandidates : 1, start.d);
  const SerialBlas serial;
  const Threads threads(static_cast<double>(candidates.size()) * static_cast<double>(X.rows()));
  for (Index j = 0; j < q; ++j) {
    for (double& w : candidates.reshaped<Eigen::RowMajor>()) w = normals.normal();
    if (start.precision == "float32")
      candidates = candidates.cast<float>().cast<double>();  // what is chosen is what is kept
    Index best = 0;
    if (kinked) merit(candidates, X, lengths).maxCoeff(&best);
    network.W.row(j) = network.W.row(q + j) = candidates.row(best);
  }
  scale_pairs(network, start.output_scale);
  return rounded(std::move(network), start.precision);
}

void scale_pairs(TwoLayer& pairs, double output_scale) {
  const Index q = pairs.v.size() / 2;
  const double size = output_scale / std::sqrt(static_cast<double>(pairs.v.size()));
  pairs.v.head(q).setConstant(size);
  pairs.v.tail(q).setConstant(-size);
}

}  // namespace zeroloss
