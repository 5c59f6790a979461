#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "conv/options.hpp"

/// What a run needs to go on where it was.
namespace zeroloss::internal {

/// Sums over the steps since the last record, of all processes.
struct Totals {
  double loss = 0, wrong = 0, images = 0, gradient_norm = 0, steps = 0;
  double train_s = 0;  ///< of these steps
};

struct ConvCheckpoint {
  Index step = 0;
  double seconds = 0;  ///< of the run so far
  Totals totals;
  std::vector<ConvRecord> history;
  std::vector<std::pair<std::string, std::vector<float>>> numbers;  ///< the trainer's state()
};

/// One safetensors file, written whole or not at all. Throws as write_tensors does.
void write_checkpoint(const std::filesystem::path& path, const ConvCheckpoint& checkpoint,
                      const Metadata& identity);

/// Throws DataError if the file is damaged, or of a run with another identity (naming the first difference).
ConvCheckpoint read_checkpoint(const std::filesystem::path& path, const Metadata& identity);

}  // namespace zeroloss::internal
