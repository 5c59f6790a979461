#pragma once
#include <string>
#include <vector>

#include "zeroloss/core/run.hpp"
#include "zeroloss/theory/certify.hpp"

namespace zeroloss::app {

/// The answer for people: the conclusion first, then the tables. Printed bounds are rounded to the safe side.
std::string certify_text(const Dataset& data, const CertifyOptions& options, const CertifyResult& result);

/// The answer for programs: one JSON object; every key is always there, label-dependent ones null without
/// labels. A number that is infinite is null.
std::string certify_json(const Dataset& data, const CertifyOptions& options, const CertifyResult& result);

/// manifest.json, result.json, forecast.csv and the figures; finishes the folder.
void write_run(RunFolder& folder, const Dataset& data, const ReadOptions& read, const CertifyOptions& options,
               const CertifyResult& result, const std::vector<std::string>& arguments);

}  // namespace zeroloss::app
