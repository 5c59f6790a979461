#pragma once
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/data/dataset.hpp"

/// What a saved model says about data, as text, JSON and csv.
namespace zeroloss {

struct Prediction {
  std::string model;                          ///< where it is
  std::string kind, description;              ///< of the model
  Task task = Task::none;                     ///< it was made for
  std::vector<std::string> class_names = {};  ///< the model's
  Matrix outputs = {};                        ///< n x outputs
  std::vector<std::string> predicted = {};    ///< class names; empty unless classification
  std::vector<std::string> labels = {};       ///< of the points; empty unless classification with labels
  std::vector<Index> wrong = {};              ///< points, ascending
  std::optional<double> error = {};           ///< fraction wrong, or relative misfit; nothing without labels
};

std::string predict_text(const Dataset& data, const Prediction& answer);
std::string predict_json(const Dataset& data, const Prediction& answer);

/// Record, label, prediction and outputs of every point.
std::string predict_csv(const Dataset& data, const Prediction& answer);

}  // namespace zeroloss
