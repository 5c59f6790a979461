#pragma once
#include <string>
#include <vector>

#include "zeroloss/processes/process_group.hpp"

namespace zeroloss::app {

/// What the processes other than 0 can be asked to do, by all commands.
Services all_services();

/// The program zeroloss, alone or as one of the processes that mpirun or srun started: process 0 runs the
/// command, the others serve it until it is done, and all end with the same exit code. As run() of
/// command.hpp otherwise.
int run_in_group(const std::vector<std::string>& arguments, const std::string& cache);

}  // namespace zeroloss::app
