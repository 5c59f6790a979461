#pragma once
#include "options.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss::app {

/// The options of training that fit and sweep share. `options` holds the defaults when this is called and
/// must outlive the parsing.
void add_training_options(const Command& command, FitOptions& options);

/// "1e-6, for gauss_newton 1e-9": with float64, where none is given.
std::string default_tolerances();

}  // namespace zeroloss::app
