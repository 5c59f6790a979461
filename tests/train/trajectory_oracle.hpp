#pragma once
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/two_layer.hpp"
#include "zeroloss/base/matrix.hpp"

/// Training of small two-layer networks by PyTorch, in double (tests/train/data/make_trajectories.py).
namespace zeroloss::test {

struct Trajectory {
  std::string name;                 ///< "sgd4 relu ntk": method, activation, scaling
  std::string activation, scaling;  ///< scaling: what v was made by, "ntk" or "balanced"
  RowMatrix X, W_0;                 ///< n x d with unit rows; m x d
  Vector y, v;                      ///< n; m
  double step = 0;                  ///< of gd and sgd: W <- W - step * gradient of 1/2 sum (f_i - y_i)^2
  double damping = 0;               ///< of gauss_newton: W <- W - J^T (J J^T + damping I)^-1 r
  std::vector<std::vector<Index>> batches;  ///< of sgd: the points that each step sums over; else empty
  Vector misfit;                            ///< ||r_k|| of all points, k = 0..steps
  RowMatrix W;                              ///< after the last step
  double spread = 0;  ///< the largest difference of W and of misfit between two ways to compute the same

  Index steps() const { return misfit.size() - 1; }
  Problem problem() const { return {X, y, {W_0, v}, zeroloss::activation(activation)}; }
};

/// All trajectories of a method: "gd" (200 steps, all eight activations), "sgd1" and "sgd4" (60 steps,
/// batches of 1 and of 4, relu and softplus), "gauss_newton" (8 steps, relu and softplus); in both scalings.
inline std::vector<Trajectory> trajectories(const std::string& method) {
  const std::string path = std::string(ZEROLOSS_TEST_DIR) + "/train/data/trajectories.json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("missing " + path);
  const auto oracle = nlohmann::json::parse(file);
  const auto vector = [](const nlohmann::json& numbers) {
    const auto values = numbers.get<std::vector<double>>();
    return Vector(Vector::Map(values.data(), static_cast<Index>(values.size())));
  };
  const auto matrix = [&](const nlohmann::json& rows) {
    RowMatrix A(static_cast<Index>(rows.size()), static_cast<Index>(rows.at(0).size()));
    for (Index i = 0; i < A.rows(); ++i) A.row(i) = vector(rows.at(static_cast<std::size_t>(i)));
    return A;
  };

  std::vector<Trajectory> found;
  for (const auto& t : oracle.at("trajectories")) {
    Trajectory one;
    one.batches = t.value("batches", one.batches);
    std::string label = t.at("method");
    if (!one.batches.empty()) label += std::to_string(one.batches.front().size());
    if (label != method) continue;
    one.activation = t.at("activation");
    one.scaling = t.at("scaling");
    one.name = label + " " + one.activation + " " + one.scaling;
    one.X = matrix(oracle.at("X"));
    one.y = vector(oracle.at("y"));
    one.W_0 = matrix(oracle.at("W_0"));
    one.v = vector(oracle.at("v").at(one.scaling));
    one.step = t.value("step", 0.0);
    one.damping = t.value("damping", 0.0);
    one.misfit = vector(t.at("misfit"));
    one.W = matrix(t.at("W"));
    one.spread = t.at("spread");
    found.push_back(std::move(one));
  }
  if (found.empty()) throw std::invalid_argument("no trajectories of " + method);
  return found;
}

}  // namespace zeroloss::test
