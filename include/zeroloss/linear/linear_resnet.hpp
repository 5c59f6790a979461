#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// Deep linear residual networks y^ = (I + A_l) .. (I + A_1) x: risk, gradient, the landscape inequality and
/// gradient descent [HM, section 2]. Mathematics: theory 10.
namespace zeroloss {

/// What such a network learns: y = R x + noise, E[x x^T] = Sigma.
struct LinearProblem {
  Matrix R;              ///< d x d, finite
  Matrix Sigma;          ///< d x d, positive definite
  Matrix root;           ///< d x d with root root^T = Sigma, lower triangular
  double noise = 0;      ///< C = E||y - R x||^2, the risk that no network goes below
  double sigma_min = 0;  ///< eigenvalues of Sigma
  double sigma_max = 0;
  Index n = 0;  ///< points, if R and Sigma come from data; else 0

  Index d() const { return R.rows(); }
};

/// The problem of a map R and a covariance Sigma, without noise. Throws DataError, naming what was found:
/// sizes that are not d x d, entries that are not finite or beyond 1e60, Sigma not symmetric to 1e-12 of its
/// largest entry, not positive semidefinite or singular (with its rank).
LinearProblem population(const Matrix& R, const Matrix& Sigma);

/// Least squares on data: R = Y^T X (X^T X)^-1, Sigma = X^T X/n, C = ||Y - X R^T||_F^2/n, through a QR
/// factorisation of X (the normal equations would square its condition number). f is then the mean of
/// ||y^_i - y_i||^2 over the points. Throws DataError: Y without d columns or n rows, entries that are not
/// finite or beyond 1e60, X^T X singular (with its rank: singular values above max(n, d) 2^-52 of the
/// largest). O(n d^2).
LinearProblem regression(const RowMatrix& X, const RowMatrix& Y);

/// A problem as the command line names it: an npz with X and Y, or a generator. `gaussian:d=..[,seed=..]`: R
/// with independent N(0, 1/d) entries. `rotation:d=..[,seed=..]`: R uniform on SO(d). Sigma = I for both. A
/// seed in the text wins over `seed`; both lie in [0, 2^53).
struct NamedProblem {
  LinearProblem problem;
  std::string name;        ///< what the user called it
  std::string digest;      ///< SHA-256 (hex) of the file, or of the doubles of R
  std::string sigma = {};  ///< of a map: the file of its Sigma; empty = I
  std::uint64_t seed = 0;  ///< of a generator, where its text has none
};
NamedProblem read_linear_problem(const std::string& source, std::uint64_t seed = 0);

/// The same from a map in an npy file, with Sigma in another one; I if `sigma` is empty.
NamedProblem read_linear_map(const std::string& map, const std::string& sigma);

/// Layers A_1, .., A_l, each d x d; layer 1 is applied first.
struct LinearResnet {
  std::vector<Matrix> A;

  Index layers() const { return static_cast<Index>(A.size()); }
  /// (I + A_l) .. (I + A_1), evaluated as the network does: h <- h + A_j h. O(l d^3).
  Matrix product() const;
  /// max ||A_i|| <= this (spectral norms), proved, within a factor 1 + d^2 2^-49. O(l d^3)
  double max_norm() const;
};

/// Where a network stands: computed but for max_norm, so that at A = 0 with Sigma = I, where the inequality
/// is an equality, gradient_norm may come out below gradient_bound by rounding.
struct Landscape {
  double excess_risk = 0;     ///< f - C = ||E Sigma^(1/2)||_F^2, E = product - R; never by subtraction
  double risk = 0;            ///< f
  double gradient_norm = 0;   ///< ||grad f||_F over all layers
  double max_norm = 0;        ///< tau >= max ||A_i||, proved
  double gradient_bound = 0;  ///< 2 sqrt(l) (1 - tau)^(l-1) sqrt(s_min(Sigma) (f - C)) <= ||grad f||_F for
                              ///< tau < 1; 0, and nothing is said, for tau >= 1 [HM, (2.3), corrected]
};
template <Is<Landscape> T, class Visitor>
void fields(T& l, const Visitor& visit) {
  visit(Field{"risk", "f."}, l.risk);
  visit(Field{"excess_risk", "f - C."}, l.excess_risk);
  visit(Field{"gradient_norm"}, l.gradient_norm);
  visit(Field{"gradient_bound", "Lower bound of gradient_norm where tau < 1, computed; else 0."},
        l.gradient_bound);
  visit(Field{"max_norm", "tau >= max ||A_i||, proved."}, l.max_norm);
}

/// Also hands out the gradient, df/dA_i = 2 S_i^T E Sigma P_(i-1)^T with P_i = (I + A_i) .. (I + A_1) and
/// S_i = (I + A_l) .. (I + A_(i+1)), if `gradient` is not null. Throws std::invalid_argument if the network
/// has no layers or not the problem's d. O(l d^3), memory 2 l d^2.
Landscape landscape(const LinearProblem& problem, const LinearResnet& network,
                    std::vector<Matrix>* gradient = nullptr);

struct DescentOptions {
  /// A number > 0, or auto: eta = 1/H at every step, H >= the largest eigenvalue of the Hessian on the whole
  /// step (theory 10). Then f falls by eta/2 ||grad f||^2 or more, in exact arithmetic.
  std::string step = "auto";
  Index max_steps = 10'000;  ///< >= 0
  double tolerance = 1e-6;   ///< relative misfit to reach, > 0
  Index record_every = 0;    ///< steps between points of the curve; 0 = about 20 a decade
};
template <Is<DescentOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"step",
              "A number, or auto: 1 over a bound of the Hessian along each step, so that the risk falls, but "
              "for rounding"}
            .taking("NUMBER|auto")
            .under("Gradient descent"),
        o.step);
  visit(Field{"max_steps", "Most steps at each depth"}.under("Gradient descent"), o.max_steps);
  visit(Field{"tolerance", "Relative misfit to reach"}.under("Gradient descent"), o.tolerance);
  visit(Field{"record_every", "Steps between rows of metrics.csv; 0 = about 20 a decade"}.under(
            "Gradient descent"),
        o.record_every);
}

/// How descent ended. converged: the relative misfit is at most the tolerance. budget_spent: max_steps are
/// done, or rounding hides any further progress. diverged: not finite, or 1000 times the start.
enum class DescentStatus { converged, budget_spent, diverged, interrupted };
std::string name(DescentStatus status);

struct DescentPoint {
  Index step = 0;
  double eta = 0;              ///< the step that led here; 0 at the start
  double relative_misfit = 0;  ///< ||E Sigma^(1/2)||_F/||R Sigma^(1/2)||_F
  Landscape at;
};
template <Is<DescentPoint> T, class Visitor>
void fields(T& p, const Visitor& visit) {
  visit(Field{"step"}, p.step);
  visit(Field{"eta", "The step size that led here."}, p.eta);
  visit(Field{"relative_misfit"}, p.relative_misfit);
  fields(p.at, visit);
}

struct DescentResult {
  DescentStatus status = DescentStatus::budget_spent;
  std::string reason;  ///< of budget_spent and diverged
  Index steps = 0;
  double relative_misfit = 0;           ///< at the end
  std::optional<Index> left_domain_at;  ///< first recorded step with max_norm >= 1
  double largest_norm = 0;              ///< >= all ||A_i|| at all recorded steps, proved
  double least_ratio = 0;  ///< least gradient_norm/gradient_bound over recorded steps where both are > 0;
                           ///< infinite if there is none
  std::vector<DescentPoint> curve;  ///< first and last step included
  LinearResnet network;
};
template <Is<DescentResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"status"}, r.status);
  visit(Field{"reason"}, r.reason);
  visit(Field{"steps"}, r.steps);
  visit(Field{"relative_misfit"}, r.relative_misfit);
  visit(Field{"left_domain_at", "First recorded step with a bound >= 1."}, r.left_domain_at);
  visit(Field{"largest_norm", "Upper bound of every recorded ||A_i||, proved."}, r.largest_norm);
  visit(Field{"least_ratio", "Least gradient_norm/gradient_bound, computed."}, r.least_ratio);
  visit(Field{"curve"}.apart(), r.curve);
  visit(Field{"network", "Kept at the last depth only."}.apart(), r.network);
}

/// Gradient descent A_i <- A_i - eta df/dA_i from A = 0, l = `layers` >= 1. Throws std::invalid_argument
/// naming an option that is out of range; ResourceError if memory does not suffice. Cancelled through
/// `progress` it returns what is done as interrupted. A step costs 3 l products of d x d matrices.
DescentResult descend(const LinearProblem& problem, Index layers, const DescentOptions& options,
                      Progress& progress);
DescentResult descend(const LinearProblem& problem, Index layers, const DescentOptions& options = {});

}  // namespace zeroloss
