#pragma once
#include <cstring>
#include <string>
#include <type_traits>

#include "zeroloss/core/group.hpp"

/// What process 0 tells the others to do next: a few numbers and a name.
namespace zeroloss::internal {

/// Of one service, in the order of its letters.
struct Order {
  char what = 0;
  double number = 0;
  std::string name;

  std::string text() const {
    std::string text(1 + sizeof number, what);
    std::memcpy(text.data() + 1, &number, sizeof number);
    return text + name;
  }
  static Order of(const std::string& text) {
    Order order{text.at(0), 0, text.substr(1 + sizeof(double))};
    std::memcpy(&order.number, text.data() + 1, sizeof order.number);
    return order;
  }
};

/// A value of process 0 on all.
template <class T>
T from_leader(const Group& group, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  group.broadcast(&value, sizeof value);
  return value;
}

/// Runs a part of process 0 in what all do together. The others wait in it, so an exception ends all of them.
template <class Work>
auto together(const Group& group, const Work& work) {
  constexpr int kFailed = 3;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    group.abort(kFailed, "out of memory");
  } catch (const std::exception& error) {
    group.abort(kFailed, error.what());
  }
}

}  // namespace zeroloss::internal
