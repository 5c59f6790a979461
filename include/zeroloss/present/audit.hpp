#pragma once
#include <string>
#include <vector>

#include "zeroloss/audit/audit.hpp"
#include "zeroloss/audit/influence.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/present/next.hpp"

/// The answers of audit and influence as text, as JSON, as csv and as run folders.
namespace zeroloss {

/// For people: the conclusion first, then the labels that look wrong, how many there are, twins and outliers.
/// `test`: the data whose labels were judged, if they are not those of the predictor; null otherwise.
std::string audit_text(const Dataset& data, const Dataset* test, const AuditOptions& options,
                       const AuditResult& result);

/// For programs: one JSON object; every key is always there.
std::string audit_json(const Dataset& data, const Dataset* test, const AuditOptions& options,
                       const AuditResult& result, const Next& next = {});

/// A line for each sample in order: sample, id, label, predicted, score, confidence, issue.
std::string audit_csv(const Dataset& asked, const AuditResult& result);

/// A line for each sample that was drawn, with columns that people fill in: what read_checked reads.
/// Decisions on samples that were checked before are there. `asked`: the data whose labels were judged.
std::string drawn_csv(const AuditResult& result, const AuditOptions& options, const Dataset& asked);

/// result.json, scores.csv, drawn.csv and drawn.json where samples were drawn, issues.json (what differs
/// most, and pictures where samples are images), figures and manifest.json, where `command` is what was
/// asked; finishes the folder.
void write_audit(RunFolder& folder, const Dataset& data, const Dataset* test, const ReadOptions& read,
                 const AuditOptions& options, const AuditResult& result,
                 const std::vector<std::string>& command, const Next& next = {});

/// What to do after this answer; `out` is the run folder, "" for none.
Next after_audit(const std::vector<std::string>& words, const AuditResult& result, const std::string& out);

std::string influence_text(const Dataset& data, const Dataset& test, const InfluenceOptions& options,
                           const InfluenceResult& result);
std::string influence_json(const Dataset& data, const Dataset& test, const InfluenceOptions& options,
                           const InfluenceResult& result, const Next& next = {});
/// result.json, values.csv (a line for each training sample) and manifest.json; finishes the folder.
void write_influence(RunFolder& folder, const Dataset& data, const Dataset& test, const ReadOptions& read,
                     const InfluenceOptions& options, const InfluenceResult& result,
                     const std::vector<std::string>& command, const Next& next = {});

}  // namespace zeroloss
