#pragma once
#include <atomic>

namespace zeroloss {

/// Standard input, pipes and sockets may be waited for without end. Once `asked` is true, whatever reads one
/// throws Interrupted: in the whole process, to which its standard input belongs. Null, as it is at first: a
/// signal that is handled while they are waited for does. `asked` must outlive all that reads.
void stop_streams(const std::atomic<bool>* asked);

}  // namespace zeroloss
