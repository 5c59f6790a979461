#pragma once

/// MPI as all of a process call it, ScaLAPACK too: the program's own functions stand before those of the
/// library that it loads, count, and go on there.
namespace zeroloss::test {

/// Bytes that this process has handed over so far: those of a message once, those of a broadcast once for
/// each process that gets them, those of a reduction once where they are not the root's.
double mpi_bytes();

}  // namespace zeroloss::test
