#pragma once
#include <optional>

#include "zeroloss/base/blas.hpp"

/// How many threads parallel loops run on. No result depends on it.
namespace zeroloss {

/// What a parallel loop that this thread begins may use: OpenMP's maximum.
int thread_count();

/// From now on; returns what it was. Throws std::invalid_argument for a count below 1.
int set_thread_count(int count);

/// While one of these lives, parallel loops that this thread begins, and BLAS, run on one thread if what
/// there is to do between two points where threads wait for each other is not worth waking them.
class Threads {
 public:
  explicit Threads(double multiply_adds);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
  std::optional<SerialBlas> serial_;
};

}  // namespace zeroloss
