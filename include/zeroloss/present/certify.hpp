#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/present/next.hpp"
#include "zeroloss/theory/certify.hpp"

/// The answer of certify as text, as JSON and as a run folder.
namespace zeroloss {

/// For people: the conclusion first, then the tables. Printed bounds are rounded to the safe side.
std::string certify_text(const Dataset& data, const CertifyOptions& options, const CertifyResult& result);

/// For programs: one JSON object; every key is always there, label-dependent ones null without labels. A
/// number that is infinite is null, as is an empty text.
std::string certify_json(const Dataset& data, const CertifyOptions& options, const CertifyResult& result,
                         const Next& next = {});

/// result.json, forecast.csv, figures and manifest.json, where `command` is what was asked; finishes the
/// folder.
void write_certify(RunFolder& folder, const Dataset& data, const ReadOptions& read,
                   const CertifyOptions& options, const CertifyResult& result,
                   const std::vector<std::string>& command, const Next& next = {});

/// What to do after this answer.
Next after_certify(const Dataset& data, const ReadOptions& read, const CertifyOptions& options,
                   const CertifyResult& result);

}  // namespace zeroloss
