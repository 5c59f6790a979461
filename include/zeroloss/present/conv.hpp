#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "zeroloss/conv/train.hpp"
#include "zeroloss/core/run.hpp"

namespace zeroloss::app {

nlohmann::ordered_json conv_options_json(const ConvOptions& options, Index steps);

/// "10,000 images are right", then the classes with their errors.
std::string evaluation_text(const ConvEvaluation& evaluation, const std::vector<std::string>& class_names);
nlohmann::ordered_json evaluation_json(const ConvEvaluation& evaluation,
                                       const std::vector<std::string>& class_names);

/// The answer for people, and for programs.
std::string conv_text(const ImageSet& images, const ConvOptions& options, const ConvResult& result);
std::string conv_json(const ImageSet& images, const ConvOptions& options, const ConvResult& result);

/// metrics.csv and norms.csv of the records so far.
void write_history(RunFolder& folder, const std::vector<ConvRecord>& history,
                   const ConvArchitecture& architecture);

/// All files of a run but its manifest: history, result.json, evaluation.json, model.safetensors, figures.
void write_conv(RunFolder& folder, const ImageSet& images, const ConvOptions& options,
                const ConvResult& result);

}  // namespace zeroloss::app
