#pragma once
#include <stdexcept>
#include <string>

/// What the library throws. A wrong argument is std::invalid_argument ("certify: accuracy must be in (0, 1);
/// got 2"), thrown before any work. A numerical outcome ("not verified") is never an exception
/// but a value.
namespace zeroloss {

/// Bad data: the message names the file, the line or record and the column, what was found and what was
/// expected. Nothing half-read is ever returned.
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A back end is missing or failed: the message names the call, its status and what to install or switch on.
struct BackendError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Memory or disk does not suffice: the message gives what is needed, what is free and what to try instead.
struct ResourceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The work was cancelled through Progress and has no partial result worth returning.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace zeroloss
