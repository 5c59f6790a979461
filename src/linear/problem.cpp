#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "linalg/decompositions.hpp"
#include "linear/svd.hpp"
#include "sources/recipe.hpp"
#include "sources/source_kind.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/linear/linear_resnet.hpp"
#include "zeroloss/sources/arrays.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr double kEpsilon = 0x1p-52;

constexpr const char* kForms =
    "linear takes an npz with X (n x d) and Y (n x d), a map (`map=R.npy`), gaussian:d=.. or rotation:d=..";

std::string shape(const auto& A) { return fmt::format("{} x {}", A.rows(), A.cols()); }

std::string digest_of(const Matrix& R) {
  Sha256 digest;
  digest.update(R.data(), static_cast<std::size_t>(R.size()) * sizeof(double));
  return digest.hex();
}

// ---- generators ----

struct MapGenerator {
  bool rotation = false;
  std::int64_t d = 0, seed = 0;
};

MapGenerator parse(const std::string& text, std::uint64_t seed) {
  MapGenerator generator{text.starts_with("rotation:"), 0, static_cast<std::int64_t>(seed)};
  read_recipe(text, "gaussian:d=..[,seed=..] or rotation:d=..[,seed=..], as in gaussian:d=10",
              {{"d", &generator.d}, {"seed", &generator.seed}});
  return generator;
}

Matrix generated_map(const std::string& text, const MapGenerator& generator) {
  const auto d = static_cast<double>(generator.d);
  require_memory(48 * d * d, text, "take a smaller d");
  Random random(static_cast<std::uint64_t>(generator.seed), Stream::points);
  Matrix G(generator.d, generator.d);
  random.fill_normal(G);
  if (!generator.rotation) return G / std::sqrt(d);
  // QR of a Gaussian matrix with R's diagonal positive: Q is uniform on O(d); a negated column moves the
  // other half of O(d) onto SO(d) and leaves its distribution there uniform.
  const Qr qr(G);
  Matrix Q = qr.Q(G.cols());
  const Matrix upper = qr.R();
  Index reflections = qr.reflections();
  for (Index j = 0; j < Q.cols(); ++j)
    if (upper(j, j) < 0) {
      Q.col(j) = -Q.col(j);
      ++reflections;
    }
  if (reflections % 2 != 0) Q.col(0) = -Q.col(0);
  return Q;
}

LinearProblem isotropic(Matrix R) {
  const Index d = R.rows();
  LinearProblem problem;
  problem.R = std::move(R);
  problem.Sigma = problem.root = Matrix::Identity(d, d);
  problem.sigma_min = problem.sigma_max = 1;
  return problem;
}

// Products of a few entries neither overflow nor vanish.
void check_entries(const char* what, const auto& A) {
  if (!A.allFinite()) throw DataError(fmt::format("{} has an entry that is not finite", what));
  const double largest = A.cwiseAbs().maxCoeff();
  if (largest != 0 && (largest < 1e-60 || largest > 1e60))
    throw DataError(
        fmt::format("{} is out of range: its largest entry is {:.2g}; rescale it", what, largest));
}

RowMatrix read_targets(const std::string& source) {
  try {
    return read_matrix(source, "Y");
  } catch (const DataError& error) {
    throw DataError(
        fmt::format("{}; Y must have d columns, as X has, and a row for each of X", error.what()));
  }
}

void check_map(const Matrix& R) {
  if (R.rows() != R.cols() || R.rows() == 0)
    throw DataError(fmt::format("R must be square, d x d; found {}", shape(R)));
  check_entries("R", R);
}

}  // namespace

LinearProblem population(const Matrix& R, const Matrix& Sigma) {
  check_map(R);
  const Index d = R.rows();
  if (Sigma.rows() != d || Sigma.cols() != d)
    throw DataError(fmt::format("Sigma must be {} x {}, as R is; found {}", d, d, shape(Sigma)));
  check_entries("Sigma", Sigma);
  const double largest = Sigma.cwiseAbs().maxCoeff();
  const double asymmetry = (Sigma - Sigma.transpose()).cwiseAbs().maxCoeff();
  if (asymmetry > 1e-12 * largest)
    throw DataError(
        fmt::format("Sigma must be symmetric; entries and their mirrors differ by up to {:.2g}", asymmetry));
  LinearProblem problem;
  problem.R = R;
  problem.Sigma = (Sigma + Sigma.transpose()) / 2;
  const Vector eigen = symmetric_eigenvalues(problem.Sigma);
  problem.sigma_min = eigen(0);
  problem.sigma_max = eigen(d - 1);
  const double zero = static_cast<double>(d) * kEpsilon * std::abs(problem.sigma_max);
  if (problem.sigma_min < -zero)
    throw DataError(fmt::format("Sigma must be positive definite; it has the computed eigenvalue {:.6g}",
                                problem.sigma_min));
  if (problem.sigma_min <= zero)
    throw DataError(
        fmt::format("Sigma is numerically singular: its rank is {}, d is {}; in the directions that x never "
                    "takes R is not determined: drop them",
                    (eigen.array() > zero).count(), d));
  problem.root = cholesky(problem.Sigma);
  return problem;
}

LinearProblem regression(const RowMatrix& X, const RowMatrix& Y) {
  const Index n = X.rows(), d = X.cols();
  if (n == 0 || d == 0) throw DataError(fmt::format("X must have points and features; found {}", shape(X)));
  if (Y.cols() != d)
    throw DataError(fmt::format("Y must have d columns, as X has: expected {}; found {} (X is {} x {})", d,
                                Y.cols(), n, d));
  if (Y.rows() != n) throw DataError(fmt::format("Y has {} rows, but X has {}", Y.rows(), n));
  check_entries("X", X);
  check_entries("Y", Y);
  const auto N = static_cast<double>(n), D = static_cast<double>(d);
  require_memory(8 * (3 * N * D + 8 * D * D), fmt::format("least squares with {} points", n),
                 "take fewer points");
  const Qr qr(X);
  const Matrix T = qr.R();
  const Vector s = singular_values(T).s;
  const Index rank = (s.array() > static_cast<double>(std::max(n, d)) * kEpsilon * s(0)).count();
  if (rank < d)
    throw DataError(fmt::format(
        "X^T X is numerically singular: its rank is {}, d is {}; R is not determined by these "
        "points: {}",
        rank, d,
        n < d ? fmt::format("at least {} are needed", d) : "drop columns that are combinations of others"));
  LinearProblem problem;
  const Matrix rotated = qr.transposed(Y);
  problem.R = T.triangularView<Eigen::Upper>().solve(rotated.topRows(d)).transpose();
  problem.root = T.transpose() / std::sqrt(N);
  problem.Sigma = problem.root * problem.root.transpose();
  problem.sigma_max = s(0) * s(0) / N;
  problem.sigma_min = s(d - 1) * s(d - 1) / N;
  problem.noise = (Y - X * problem.R.transpose()).squaredNorm() / N;
  problem.n = n;
  return problem;
}

NamedProblem read_linear_problem(const std::string& source, std::uint64_t seed) {
  if (source.starts_with("gaussian:") || source.starts_with("rotation:")) {
    Matrix R = generated_map(source, parse(source, seed));
    const std::string digest = digest_of(R);
    return {isotropic(std::move(R)), source, digest, "", seed};
  }
  if (!is_name(source) && !std::filesystem::exists(source))
    throw DataError(fmt::format("'{}': no such file; {}", source, kForms));
  if (!source.ends_with(".npz"))
    throw DataError(fmt::format("{}: Y must have d columns; {}", source, kForms));
  const RowMatrix X = read_matrix(source, "X"), Y = read_targets(source);
  try {
    return {regression(X, Y), source, sha256_file(source), "", seed};
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", source, error.what()));
  }
}

NamedProblem read_linear_map(const std::string& map, const std::string& sigma) {
  const Matrix R = read_matrix(map);
  const Matrix Sigma = sigma.empty() ? Matrix() : Matrix(read_matrix(sigma));
  try {
    check_map(R);
    return {sigma.empty() ? isotropic(R) : population(R, Sigma), map, sha256_file(map), sigma};
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", map, error.what()));
  }
}

}  // namespace zeroloss
