#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/conv/train.hpp"
#include "zeroloss/present/next.hpp"

/// The answers of conv as text, as JSON and as a run folder.
namespace zeroloss {

/// For people, and for programs.
std::string conv_text(const ImageSet& images, const ConvOptions& options, const ConvResult& result);
std::string conv_json(const ImageSet& images, const ConvOptions& options, const ConvResult& result,
                      const Next& next = {});

/// What to do after this answer to `words`, on the images of `source`; `out` is the run folder, "" for none.
Next after_conv(const std::vector<std::string>& words, const std::string& source, const std::string& out,
                const ConvResult& result);
/// And after the errors of a saved network.
Next after_conv_evaluation(const std::string& model);

/// metrics.csv and norms.csv of the records so far.
void write_history(RunFolder& folder, const std::vector<ConvRecord>& history,
                   const ConvArchitecture& architecture);

/// History, result.json, evaluation.json, model.safetensors, figures and manifest.json, where `read` says how
/// the images were chosen and `command` is what was asked; finishes the folder. Of an interrupted run history
/// and result.json alone, and it is not finished.
void write_conv(RunFolder& folder, const ImageSet& images, const ImageOptions& read,
                const ConvOptions& options, const ConvResult& result, const std::vector<std::string>& command,
                const Next& next);

/// "3 of 10,000 images wrong: ..", then the classes with their errors; and with the split that was evaluated.
std::string evaluation_text(const ConvEvaluation& evaluation, const std::vector<std::string>& class_names);
std::string evaluation_json(const ConvEvaluation& evaluation, const std::vector<std::string>& class_names,
                            const std::string& split, const Next& next = {});

/// The `top` classes of the largest outputs for each file, with their softmax. Throws nothing; a network
/// without names has numbers.
std::string guesses_text(const ConvNetwork& network, const std::vector<std::string>& files,
                         const Logits& logits, Index top);
std::string guesses_json(const ConvNetwork& network, const std::vector<std::string>& files,
                         const Logits& logits, Index top);

}  // namespace zeroloss
