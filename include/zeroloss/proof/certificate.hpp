#pragma once
#include <limits>
#include <string>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/network/network.hpp"

/// Proofs that one given network has an exact zero-loss solution nearby, and that gradient descent reaches it
/// (theory 7). Nothing random is left: what holds, holds with certainty, rounding included.
namespace zeroloss {

/// What a network has to satisfy: f(x_i) = y_i for n points, no two of them equal. X and y have to outlive
/// it.
struct Equations {
  const RowMatrix& X;  ///< n x d, rows of any length but 0
  const Vector& y;     ///< n, exactly these doubles
  /// How often each point occurs, so that the loss is 1/2 sum_i counts_i r_i^2; empty = once.
  Vector counts = {};
  /// The points are within row_error ||x_i|| of the rows (unit_row_error); 0: they are the rows.
  double row_error = 0;
};

/// What is proved about one output (W, v), exactly the doubles they are, in exact arithmetic with the exact
/// activation, and for all points within row_error of the rows. C = diag(counts), J is C^1/2 times the
/// Jacobian of the outputs in vec(W) at W, r = C^1/2 (f - y) the residual.
struct Certificate {
  /// descent | existence | none: what holds (descent implies existence); output_weights: of random features,
  /// where radius is a distance of v, and lambda_min is that of Phi Phi^T.
  std::string kind = "none";
  bool holds = false;
  double radius = 0;  ///< if it holds: an exact solution lies within this of W (Frobenius, rounded up)
  /// Above 1 if it holds (but for a user's activation), rounded down. descent: (a/3)/e(R), for relu and
  /// leaky_relu, where no sign changes on the way, the least |z_ij| over the most that it can move;
  /// existence: least |z_ij|/(||x_i|| rho) at the polished weights, kinks left out. Of the better attempt if
  /// none holds.
  double margin = 0;
  /// descent: the margin for any targets that are as far from the outputs; above 1 descent reaches them all.
  double any_margin = 0;
  /// Upper bound of ||r|| (of a user's activation: computed); infinite if none is known.
  double misfit = std::numeric_limits<double>::infinity();
  double lambda_min = 0;  ///< lower bound of lambda_min(J J^T) at W; 0 if none is proved
  double norm_J = 0;      ///< upper bound of ||J||; 0 if not computed (it is where descent holds)
  /// descent: gradient descent from W with any step up to this converges to an exact solution, never leaves
  /// the radius, and ||r_k|| <= (1 - step rate)^k ||r||. Rounded down.
  double step = 0, rate = 0;
  Index kinks = 0;        ///< existence: entries of Z that the exact solution has at zero
  double kink_bound = 0;  ///< existence: the largest |z_ij| among them at W
  std::string reason;     ///< why descent does not hold, by how much; then why existence does not
};
template <Is<Certificate> T, class Visitor>
void fields(T& c, const Visitor& visit) {
  visit(Field{"kind", "descent | existence | output_weights | none."}, c.kind);
  visit(Field{"holds"}, c.holds);
  visit(Field{"radius", "If it holds: an exact solution lies within this."}.only_if(c.holds), c.radius);
  visit(Field{"margin", "Above 1 if it holds."}, c.margin);
  visit(Field{"any_margin", "descent: the margin for any targets as far from the outputs; above 1 it holds."},
        c.any_margin);
  visit(Field{"misfit", "Upper bound of ||r||; infinite if none is known."}, c.misfit);
  visit(Field{"lambda_min", "Lower bound of lambda_min(J J^T); 0 if none is proved."}, c.lambda_min);
  visit(Field{"norm_J", "Upper bound of ||J||; 0 if not computed."}.only_if(c.norm_J > 0), c.norm_J);
  visit(Field{"step", "descent: any step up to this converges to an exact solution."}.only_if(c.kind ==
                                                                                              "descent"),
        c.step);
  visit(Field{"rate", "descent: ||r_k|| <= (1 - step rate)^k ||r||."}.only_if(c.kind == "descent"), c.rate);
  visit(Field{"kinks", "existence: entries of Z that the exact solution has at zero."}, c.kinks);
  visit(Field{"kink_bound", "existence: the largest |z_ij| among them."}, c.kink_bound);
  visit(Field{"reason", "Why descent does not hold, then why existence does not."}, c.reason);
}

struct CertifiedOutput {
  Certificate certificate;
  TwoLayer polished;  ///< existence: weights beside the exact solution, misfit at rounding level; else empty
};

/// Tries descent, then (relu only) existence, which `polish` asks for also where descent holds. A user's
/// activation (not tabulated) never holds: "computed, not verified". Cost: n m d multiply-adds for Z, n^2 (m
/// + d)/2 for J J^T, three Cholesky factorisations; memory 8 n^2 + 48 n m + 8 n d bytes, 8 n^2 more for n <=
/// d and 8 n d with counts. Existence with k kinks: two Cholesky factorisations of side n + k and one a round
/// (seen: 1 to 4), n^2 m/2 multiply-adds a round; memory 16 (n + k)^2 + 16 n^2 + 40 n m bytes. Bits do not
/// depend on threads. Throws std::invalid_argument for sizes that do not agree or values that are not finite,
/// ResourceError if memory does not suffice, Interrupted.
CertifiedOutput certify_output(const TwoLayer& network, const Activation& activation,
                               const Equations& equations, Progress& progress, bool polish = false);

/// Descent alone.
Certificate certify_descent(const TwoLayer& network, const Activation& activation, const Equations& equations,
                            Progress& progress);

/// ||f - y||/||y|| of one output, evaluated in long double; ||f - y|| if y = 0. relu, leaky_relu,
/// quadratic, softplus and sin in full long double precision; the others evaluate phi in double. About 1 ns a
/// multiply-add.
long double precise_misfit(const TwoLayer& network, const Activation& activation, const RowMatrix& X,
                           const Vector& y);

}  // namespace zeroloss
