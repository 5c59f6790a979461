#pragma once
#include <string>

/// A limited address space (ulimit -v). OpenBLAS asks for a buffer for each thread that multiplies, again and
/// again until it gets one, so that a process without room for them would hang; even before main, where its
/// own threads begin.
namespace zeroloss::app {

/// Whether all threads find room, one thread does, or none. Without a limit, and for other libraries, all do.
enum class Room { all, one, none };
Room room_for_threads();

/// Takes the buffers of so many threads now, so that what is allocated later cannot take their place. Nothing
/// without a limit.
void reserve_buffers(int threads);

/// What to say where there is no room.
std::string no_room();

/// The same for a program with LibTorch, which takes some of that room before its main begins, and dies or
/// hangs where there is none.
Room room_for_torch();
std::string no_room_for_torch();

}  // namespace zeroloss::app
