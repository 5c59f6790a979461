#pragma once
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <string>

#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {

/// Advice where the memory of a device is too small.
inline constexpr const char* kFewerPoints = "try fewer points";
inline constexpr const char* kNarrower = "try a smaller width or fewer points (n)";

/// What LibTorch throws, in our terms and in one line: `who` asked for it, `hint` says what to do where
/// memory is short.
template <class Work>
auto guarded(const char* who, const char* hint, Work work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    std::string text = error.what_without_backtrace();
    text = fmt::format("{}: {}", who, text.substr(0, text.find('\n')));
    if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
        text.find("can't allocate memory") != std::string::npos)  // of a GPU; of the processor
      throw ResourceError(fmt::format("{}; {}", text, hint));
    throw BackendError(text);
  }
}

}  // namespace zeroloss::internal
