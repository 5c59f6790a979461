#pragma once
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "zeroloss/processes/process_group.hpp"

/// What process 0 tells the others to do next: a few numbers and a name.
namespace zeroloss::internal {

/// Of one service, in the order of its letters.
struct Order {
  Order(char letter, double value, std::string text) : what(letter), number(value), name(std::move(text)) {}

  char what;
  double number;
  std::string name;

  /// The last one of a service, as text; its letter is e.
  static constexpr std::string_view kEnd{"order e\0\0\0\0\0\0\0\0", 15};

  std::string text() const {
    std::string text(kAt + 1 + sizeof number, what);
    text.replace(0, kAt, kOrder);
    std::memcpy(text.data() + kAt + 1, &number, sizeof number);
    return text + name;
  }
  static Order of(const std::string& text) {
    if (!text.starts_with(kOrder))
      throw std::logic_error("called for something else (" + text + ") before the last is done");
    Order order{text.at(kAt), 0, text.substr(kAt + 1 + sizeof(double))};
    std::memcpy(&order.number, text.data() + kAt + 1, sizeof order.number);
    return order;
  }

 private:
  static constexpr const char* kOrder = "order ";
  static constexpr std::size_t kAt = 6;
};

/// While process 0 lives with what the others have begun for it; then it tells them so, in whatever way it
/// comes to that, without memory of its own. Where they cannot be told any more this process ends.
class Service {
 public:
  Service(const Group& group, const char* name) : group_(group) { group_.call(name); }
  ~Service() { group_.announce(Order::kEnd); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  const Group group_;
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
auto collective(const Group& group, const Work& work) {
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
