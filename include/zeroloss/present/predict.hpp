#pragma once
#include <string>

#include "zeroloss/models/models.hpp"

/// What a saved model says about data, as text, JSON and csv.
namespace zeroloss {

/// `file`: where the model is.
std::string predict_text(const std::string& file, const Model& model, const Dataset& data,
                         const Prediction& answer);
std::string predict_json(const std::string& file, const Model& model, const Dataset& data,
                         const Prediction& answer);

/// Sample, label, prediction and outputs of every point.
std::string predict_csv(const Model& model, const Dataset& data, const Prediction& answer);

}  // namespace zeroloss
