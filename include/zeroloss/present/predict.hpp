#pragma once
#include <string>

#include "zeroloss/models/models.hpp"
#include "zeroloss/present/next.hpp"

/// What a saved model says about data, as text, JSON and csv.
namespace zeroloss {

/// `file`: where the model is; has_csv: predict_csv() is written, too.
std::string predict_text(const std::string& file, const Model& model, const Dataset& data,
                         const Prediction& answer, bool has_csv = false);
std::string predict_json(const std::string& file, const Model& model, const Dataset& data,
                         const Prediction& answer, const Next& next = {});

/// What an exported model takes and gives: the inputs by name where they are columns, labels by number.
/// `file`: where it is.
std::string export_text(const std::string& file, const Model& model);

/// Sample, its id where the data has them, label, prediction and outputs of every point.
std::string predict_csv(const Model& model, const Dataset& data, const Prediction& answer);

/// What to do after this answer; `out` is the csv that was written, "" for none.
Next after_predict(const std::string& file, const Dataset& data, const ReadOptions& read,
                   const std::string& out);

}  // namespace zeroloss
