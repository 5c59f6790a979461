#include "data/stop_streams.hpp"

namespace zeroloss {
namespace {

std::atomic<const std::atomic<bool>*> asker = nullptr;

}  // namespace

void stop_streams(const std::atomic<bool>* asked) { asker = asked; }

const std::atomic<bool>* internal::streams_stop() { return asker; }

}  // namespace zeroloss
