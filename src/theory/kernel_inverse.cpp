#include "theory/kernel_inverse.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernel/lowest.hpp"
#include "zeroloss/base/blas.hpp"

namespace zeroloss::internal {
namespace {

constexpr std::size_t kCompared = 16;  // entries of the inverse's diagonal, float32's with double's
// They agree to this, relatively: a twentieth of half a unit in the third digit of 1.00.
constexpr double kSameDigits = 2.5e-4;

// Columns e_i, of these samples.
Matrix unit_columns(Index n, const std::vector<Index>& samples) {
  Matrix units = Matrix::Zero(n, std::ssize(samples));
  for (Index c = 0; c < units.cols(); ++c) units(samples[static_cast<std::size_t>(c)], c) = 1;
  return units;
}

bool same_digits(const Vector& rough, const Vector& fine) {
  return ((rough - fine).array().abs() <= kSameDigits * fine.array()).all();  // false of NaN
}

// The diagonal of V, of which column c belongs to sample samples[c].
Vector entries_of(const Matrix& V, const std::vector<Index>& samples) {
  Vector entries(V.cols());
  for (Index c = 0; c < V.cols(); ++c) entries(c) = V(samples[static_cast<std::size_t>(c)], c);
  return entries;
}

// Whether entries of the diagonal have the digits in float32, as far as points say that lie close together:
// before more than its factor is computed.
bool digits_seen(SinglePrecision& single, const std::vector<Pair>& closest, Index n) {
  std::vector<Index> ends;
  for (const Pair& pair : closest)
    if (ends.size() + 2 <= kCompared) ends.insert(ends.end(), {pair.i, pair.j});
  if (ends.empty()) return true;
  const Matrix units = unit_columns(n, ends);
  return same_digits(entries_of(single.solve_single(units), ends),
                     entries_of(single.solve_refined(units), ends));
}

// The start's small eigenvalues by `divide`, the inverse of the kernel plus `ridge`.
BlockLanczos small_eigenvalues(const Operator& divide, double ridge, const AskedOfTheInverse& asked) {
  const Vector inverse_root = asked.root.cwiseInverse();
  auto lanczos = block_lanczos(weighed(divide, inverse_root), asked.start, kLanczosSteps, kLanczosSteps, 0);
  lanczos.values = (lanczos.values.cwiseInverse().array() - ridge).matrix();
  return lanczos;
}

// In float32; nothing, with the kernel as it was formed, where that does not see what is asked.
std::optional<KernelInverse> in_single(KernelMatrix& work, const AskedOfTheInverse& asked,
                                       Progress& progress) {
  const SerialBlas serial;  // as lambda_min() has it
  SinglePrecision* const single = work.single();
  const std::vector<Pair>& closest = work.seen().closest;
  if (!asked.three_digits || asked.start.cols() == 0 ||
      !closest_above(closest, asked.kernel, least_seen_in_single(work.n(), asked.kernel)) ||
      !seen_in_single(single, work.n(), asked.kernel, progress))
    return {};
  if (!single->round_and_factor(progress) || !digits_seen(*single, closest, work.n())) {
    work.form(asked.kernel, 0, progress);
    return {};
  }
  KernelInverse found;
  const Operator divide = [&](const Matrix& V) {
    progress.advance(1);
    return single->solve_single(V);
  };
  progress.stage("small eigenvalues");
  found.late = spectral_measure(small_eigenvalues(divide, 0, asked), asked.targets);
  const Matrix space = lowest_space(*single, work.n(), progress);
  found.solved = single->solve_refined(asked.columns);
  const auto size = static_cast<double>(work.n());
  progress.stage("leave-one-out", size * size * size / 3);
  found.diagonal = single->inverse_diagonal_single(progress);

  // Entries of the diagonal where they are least certain: of samples that hold lambda_min down most. With x =
  // K^-1 e_i, more or less, the entry is x_i + x^T (e_i - K x) to second order.
  const std::vector<Index> worst = largest_entries(space.col(0), kCompared);
  const Matrix units = unit_columns(work.n(), worst);
  const Matrix x = single->solve_single(units);
  work.form(asked.kernel, 0, progress);
  const Vector correction = (units - work.product(x)).cwiseProduct(x).colwise().sum().transpose();
  if (!same_digits(found.diagonal(worst), entries_of(x, worst) + correction)) return {};
  auto lambda = lambda_min_in(space, *single, work, asked.kernel, asked.proof, progress);
  if (!lambda) return {};
  if (!lambda->verified.holds) {
    work.form(asked.kernel, 0, progress);
    return {};
  }
  found.lowest = std::move(lambda->lowest);
  found.verified = lambda->verified;
  return found;
}

// One factorisation of what is formed, and one inverse.
KernelInverse in_double(KernelMatrix& work, const AskedOfTheInverse& asked, Progress& progress) {
  KernelInverse found;
  found.ridge = factor_with_ridge(work, asked.kernel, progress);
  Matrix start;
  if (asked.start.cols() == 0) {
    start = random_block(work.n());
  } else {
    progress.stage("small eigenvalues");
    auto lanczos = small_eigenvalues(divide_by(work, progress), found.ridge, asked);
    found.late = spectral_measure(lanczos, asked.targets);
    start = std::move(lanczos.vectors);
  }
  found.lowest = smallest_eigenpair(work, found.ridge, start, progress);
  if (asked.columns.cols() == 0) return found;
  found.solved = work.solve(asked.columns);
  const auto size = static_cast<double>(work.n());
  progress.stage("leave-one-out", size * size * size / 3);
  found.diagonal = work.inverse_diagonal(progress);
  return found;
}

}  // namespace

Operator weighed(const Operator& apply, const Vector& root) {
  if (root.size() == 0) return apply;
  return
      [apply, &root](const Matrix& V) -> Matrix { return root.asDiagonal() * apply(root.asDiagonal() * V); };
}

std::vector<Index> largest_entries(const Vector& v, std::size_t count) {
  std::vector<Index> order(static_cast<std::size_t>(v.size()));
  std::iota(order.begin(), order.end(), Index{0});
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](Index a, Index b) { return std::abs(v(a)) > std::abs(v(b)); });
  order.resize(count);
  return order;
}

KernelInverse kernel_inverse(KernelMatrix& work, const AskedOfTheInverse& asked, Progress& progress) {
  if (auto found = in_single(work, asked, progress)) return std::move(*found);
  return in_double(work, asked, progress);
}

}  // namespace zeroloss::internal
