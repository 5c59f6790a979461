#pragma once
#include <optional>
#include <string>
#include <vector>

#include "network/prepare.hpp"
#include "train/fit_options.hpp"
#include "zeroloss/deep/network.hpp"

/// The training curve of the infinitely wide network of many layers, from the drawn outputs.
namespace zeroloss::internal {

class DeepForecast {
 public:
  /// Of unit rows, by the kernel of the layers that move: all, or all but the last. Outputs of plain networks
  /// are drawn in units of `unit`.
  DeepForecast(const TrainingSet& set, const CheckedOptions& options, const std::vector<bool>& moving,
               double unit, Progress& progress);

  /// Why there is none; empty if there is.
  const std::string& missing() const { return missing_; }

  /// From the residual r0, n x K.
  void begin(const Matrix& r0, double step);

  /// ||r|| after k steps; nothing where there is no forecast.
  std::optional<double> at(double k) const;

 private:
  const CheckedOptions& options_;
  Vector values_, squares_;  // of r0 along the vectors
  Matrix vectors_;
  double step_ = 0;
  std::string missing_;
};

}  // namespace zeroloss::internal
