#pragma once
#include <string>

#include "kernel/closest.hpp"
#include "zeroloss/processes/process_group.hpp"

namespace zeroloss::internal {

/// The closest pairs that any process saw, on process 0. Called by all.
inline void gather(const Group& group, Closest& closest) {
  if (!group.leads()) {
    const std::string mine = closest.bytes();
    const std::uint64_t size = mine.size();
    group.send(0, &size, sizeof size);
    group.send(0, mine.data(), mine.size());
    return;
  }
  for (int from = 1; from < group.size(); ++from) {
    std::uint64_t size = 0;
    group.receive(from, &size, sizeof size);
    std::string theirs(size, '\0');
    group.receive(from, theirs.data(), size);
    closest.add(Closest::of_bytes(theirs));
  }
}

}  // namespace zeroloss::internal
