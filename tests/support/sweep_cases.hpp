#pragma once
#include "support/sqlite.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/sweep/sweep.hpp"

/// Sweeps that take milliseconds, and what they leave in a store.
namespace zeroloss::test {

/// Networks that are trained in a millisecond.
inline SweepOptions quick() {
  SweepOptions o;
  o.fit.precision = "float32";
  o.fit.width = 12;
  o.fit.max_steps = 400;
  o.fit.tolerance = 1e-2;
  o.trials = 2;
  return o;
}

/// Trials that succeed more often the wider and the higher, in part of the grid.
inline SweepOptions mixed() {
  SweepOptions o = quick();
  o.axes.d = {2, 4};
  o.axes.width = {4, 10, 30};
  o.trials = 5;
  return o;
}

/// A test with a store of its own.
class SweepStore : public TempFolder {
 protected:
  std::filesystem::path file = folder / "trials.db";
  SweepResult run(const std::string& source, SweepOptions o) {
    o.store = file;
    return sweep(source, o);
  }
  Rows rows() { return trials_of(file); }
};

}  // namespace zeroloss::test
