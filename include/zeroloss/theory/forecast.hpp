#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/kernel/spectrum.hpp"

/// What training an infinitely wide network (ntk scaling) will do, computed before training (theory 5).
namespace zeroloss {

/// How labels and initial outputs spread over the eigenvalues of H: ||g(H) r||^2 = sum_i weight_i
/// g(values_i)^2.
struct SpectralMeasure {
  Vector values;   ///< eigenvalues, or Ritz values
  Vector labels;   ///< weights of Y, summed over classes
  Matrix outputs;  ///< weights of initial outputs u(0), a column a probe (one exact column where Sigma~
                   ///< itself was used)
};

/// Exact, from all eigenvalues of H and Sigma~: 24 n^2 bytes.
SpectralMeasure spectral_measure(const Packed<double>& H, const Packed<double>& features, const Matrix& Y);

/// From a block Lanczos run whose start block was [Y, probes].
SpectralMeasure spectral_measure(const BlockLanczos& lanczos, Index label_columns);

/// n x count initial outputs u(0) of random ntk networks of 64 hidden units: mean 0 and covariance exactly
/// Sigma~, whatever the width. Rows of X are points. Independent of threads.
Matrix output_probes(const RowMatrix& X, const Activation& activation, Index count, std::uint64_t seed);

/// The expected training curve of gradient descent and what it implies.
struct Forecast {
  double step = 0;              ///< eta of the forecast
  double stable_step = 0;       ///< gradient descent is stable below 2/lambda_max
  std::vector<double> at_step;  ///< 0, then ten a decade, to ten times steps_to_accuracy
  std::vector<double> misfit;   ///< expected misfit there, relative to the start: sqrt(E||r_k||^2/E||r_0||^2)
  std::vector<double> standard_error;  ///< of misfit, from the probes; 0 if exact
  double start_misfit = 0;  ///< sqrt(E||r_0||^2)/||Y||: expected misfit at the start relative to the labels
  double accuracy = 0;      ///< the misfit asked for
  double steps_to_accuracy = 0;  ///< infinite if more than 1e15
  std::string method;            ///< "eigendecomposition" or "Lanczos, 32 probes"
};
template <Is<Forecast> T, class Visitor>
void fields(T& f, const Visitor& visit) {
  visit(Field{"method"}, f.method);
  visit(Field{"step", "eta of the forecast."}, f.step);
  visit(Field{"stable_step", "Gradient descent is stable below 2/lambda_max."}, f.stable_step);
  visit(Field{"accuracy", "The misfit asked for."}, f.accuracy);
  visit(Field{"steps_to_accuracy", "Infinite if more than 1e15."}, f.steps_to_accuracy);
  visit(Field{"start_misfit", "Expected misfit at the start, relative to the labels."}, f.start_misfit);
  visit(Field{"at_step", "0, then ten a decade."}, f.at_step);
  visit(Field{"misfit", "Expected misfit there, relative to the start."}, f.misfit);
  visit(Field{"standard_error", "Of misfit, from the probes; 0 if exact."}, f.standard_error);
}

/// sqrt(sum over classes of y'P^2 y + tr(P Sigma~ P))/sqrt(||Y||^2 + classes tr Sigma~), P = (I - eta H)^k.
/// `early` (Lanczos on H) is used while eta k sqrt(lambda_min lambda_max) < 1, `late` (Lanczos on H^-1)
/// after: each converges fast where it is used. step = 0 takes 1.5/lambda_max.
Forecast forecast(const SpectralMeasure& early, const SpectralMeasure& late, Index classes,
                  double trace_features, double step, double accuracy);

/// Complexity sqrt(2 y' H^-1 y/n) of every column of Y (Arora, Du, Hu, Li, Wang 2019), given H^-1 Y.
Vector complexity(const Matrix& Y, const Matrix& inverse_Y);

/// What the infinitely wide network predicts for each point when trained on all others: y_i - (H^-1
/// y)_i/(H^-1)_ii, n x c.
Matrix leave_one_out(const Matrix& Y, const Matrix& inverse_Y, const Vector& inverse_diagonal);

}  // namespace zeroloss
