#include "data/stop_streams.hpp"

namespace zeroloss {
namespace {

std::atomic<const std::atomic<bool>*> told = nullptr;

}  // namespace

void stop_streams(const std::atomic<bool>* asked) { told = asked; }

const std::atomic<bool>* internal::streams_stop() { return told; }

}  // namespace zeroloss
