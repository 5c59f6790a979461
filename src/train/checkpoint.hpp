#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "train/optimizer.hpp"

/// What a run needs to go on after an interruption as if there had been none.
namespace zeroloss::internal {

/// An output that is finished, or one on its way.
struct OutputState {
  OutputResult result;
  TwoLayer network = {};   ///< finished: final weights
  TwoLayer polished = {};  ///< finished: see CertifiedOutput; else empty
  Snapshot snapshot = {};  ///< on its way
  double path_length = 0, time = 0;
};

struct RunState {
  std::vector<OutputState> finished;
  std::optional<OutputState> current;
};

/// A file that is replaced atomically. `identity` names everything that decides the run's course: the digest
/// of its data and its options.
class Checkpoint {
 public:
  using Identity = std::vector<std::pair<std::string, std::string>>;

  /// Nothing is written where the path is empty.
  Checkpoint(std::filesystem::path path, double every_s, Identity identity);

  /// The state in the file, or an empty one if there is no file. Throws std::invalid_argument naming the
  /// first part of the identity that differs, DataError for a file that is none of ours.
  RunState load() const;

  bool due() const;  ///< every_s has passed since the last save
  void save(const RunState& state);
  bool enabled() const { return !path_.empty(); }

 private:
  std::filesystem::path path_;
  double every_s_;
  Identity identity_;
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

/// A finished output on its way from another process.
std::string bytes_of(const OutputState& state);
OutputState output_of(const std::string& bytes);

/// SHA-256 of the numbers that are trained on.
std::string points_digest(const RowMatrix& X, const Matrix& Y);

}  // namespace zeroloss::internal
