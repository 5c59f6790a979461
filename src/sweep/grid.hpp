#pragma once
#include "sweep/store.hpp"
#include "zeroloss/sources/readers.hpp"
#include "zeroloss/sweep/sweep.hpp"

/// The cells of a sweep, and what a trial of one is.
namespace zeroloss::internal {

/// Throws std::invalid_argument naming an option that is out of range, or that says what an axis says;
/// ResourceError for more trials than fit into memory.
SweepOptions checked(const std::string& source, SweepOptions options);

/// All combinations of the axes' values, the last axis fastest; an axis without values has the one of fit and
/// read.
std::vector<Cell> grid(const SweepOptions& options);

/// Everything that decides the results.
Store::Identity identity(const std::string& source, const std::string& digest, const SweepOptions& options);

/// Of a trial: the first 53 bits of the SHA-256 of the cell's values, the trial's number and the sweep's
/// seed.
std::uint64_t seed_of(const Cell& cell, Index trial, std::uint64_t sweep_seed);

/// Data and options of trials: fit(data(..), fit(..)) is the run that a trial is.
class TrialMaker {
 public:
  /// `data`: the points, where they are in memory; null to open `source`. Both options and data must outlive
  /// this.
  TrialMaker(const std::string& source, const Dataset* data, const SweepOptions& options);
  Dataset data(const Cell& cell, std::uint64_t seed) const;
  FitOptions fit(const Cell& cell, std::uint64_t seed) const;
  std::string digest() const {
    return real_ ? real_->digest : "";
  }  ///< of the file; empty for generated data

 private:
  std::string source_;
  const SweepOptions& options_;
  std::optional<Source> real_;  // opened once
};

/// What is left to do in the current round: the trials that have no row yet, in an order that mixes the
/// cells, so that the time they take says how long the rest will. Empty once all rounds are complete; `round`
/// counts from 1. A round is decided by all results of those before it: whoever computes it, in whichever
/// order, gets the same.
struct Round {
  Index number = 1;
  Index trials = 0;  ///< of all rounds up to this one
  std::vector<Job> missing;
};
Round current_round(const std::vector<std::vector<std::optional<TrialRow>>>& rows,
                    const SweepOptions& options);

}  // namespace zeroloss::internal
