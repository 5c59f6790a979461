#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/linear/linear.hpp"
#include "zeroloss/present/next.hpp"

/// The answer of linear as text, as JSON and as a run folder.
namespace zeroloss {

/// For people: the conclusion first, then the factorisations, then the descent.
std::string linear_text(const NamedProblem& named, const LinearOptions& options, const LinearResult& result);

/// For programs: one JSON object; every key is always there, those of the descent are null without training.
/// At the top level they speak of the last depth. A number that is infinite is null. gamma, max_norm,
/// largest_norm, reconstruction_error and correction are proved upper bounds, s_least is a proved lower one.
std::string linear_json(const NamedProblem& named, const LinearOptions& options, const LinearResult& result,
                        const Next& next = {});

/// result.json, metrics.csv, model.safetensors of the last depth, figures (descent.vl.json for one depth,
/// norm.vl.json and convergence.vl.json for several) and manifest.json, where `command` is what was asked;
/// finishes the folder.
void write_linear(RunFolder& folder, const NamedProblem& named, const LinearOptions& options,
                  const LinearResult& result, const std::vector<std::string>& command, const Next& next = {});

}  // namespace zeroloss
