#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "storage/database.hpp"
#include "sweep/trial.hpp"
#include "zeroloss/sweep/sweep.hpp"

/// The results of a sweep, a row a trial, in a database that several processes write to.
namespace zeroloss::internal {

struct Job {
  Index cell = 0, trial = 0;
};

struct TrialRow {
  Job job;
  Cell cell;  ///< n and d as they were
  std::uint64_t seed = 0;
  Trial trial;
  double seconds = 0;
};

/// Whether a trial counts as a success.
inline bool succeeded(Status status) { return status == Status::converged || status == Status::certified; }

/// Trials are claimed before they are computed, in the name of a process that is known to live: by its number
/// and start on this machine, and by a heartbeat less than a minute old. The claims of others may be taken
/// over. A row and the end of its claim are one transaction, so a process that dies loses what it was
/// computing and nothing else. Functions may be called from several threads; they throw what
/// storage/database.hpp says.
class Store {
 public:
  using Identity = std::vector<std::pair<std::string, std::string>>;

  /// Opens or creates it (empty path: in memory). Throws std::invalid_argument naming the first part of the
  /// identity in which the sweep in it differs, DataError for a file that is damaged, none of ours or of
  /// another version.
  Store(const std::filesystem::path& path, const Identity& identity);
  Store(const std::filesystem::path& path, const Identity& identity, Journal journal);
  ~Store();  ///< gives up what we claim
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// All, by cell and trial; of their values n, d, steps, misfit and status only. DataError where a row is
  /// not as it was written.
  std::vector<TrialRow> rows();
  std::vector<Job> claim(const std::vector<Job>& jobs);  ///< those that are now ours to compute
  void save(const TrialRow& row);

  /// Called when all is complete. True if no other process works here: then it is ours to close, and others
  /// leave it alone. If not we are counted out: of several that call it, the last one hears true.
  bool close();
  bool being_closed();  ///< by another process, which found it complete

 private:
  void check_whole();
  void check_identity(const Identity& identity);
  void enter();
  void remove_the_dead();
  void beat(const std::stop_token& stop);

  std::filesystem::path path_;
  Database database_;
  std::mutex mutex_;
  std::condition_variable_any waker_;
  std::int64_t worker_ = 0;
  bool closing_ = false;
  std::jthread heart_;  // last: stops before what it uses is gone
};

}  // namespace zeroloss::internal
