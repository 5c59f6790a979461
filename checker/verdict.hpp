#pragma once

#include <stdexcept>
#include <string>

namespace check {

// The folder cannot be read as README.md says.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The claim is false, and why.
struct False : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The claim is neither proved nor disproved, and why.
struct Open : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace check
