#include "cluster/counted.hpp"

namespace zeroloss::test {

double mpi_bytes() { return 0; }

}  // namespace zeroloss::test
