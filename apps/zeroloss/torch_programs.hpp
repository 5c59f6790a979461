#pragma once
#include <string>
#include <vector>

#include "command.hpp"

namespace zeroloss::app {

/// What zeroloss-torch does beside conv; returns the exit code.
int run_without_conv(const std::vector<std::string>& arguments);

}  // namespace zeroloss::app
