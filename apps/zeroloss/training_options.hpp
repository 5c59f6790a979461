#pragma once
#include <CLI/CLI.hpp>

#include "zeroloss/train/fit.hpp"

namespace zeroloss::app {

/// The options of training that fit and sweep share. `options` holds the defaults when this is called and
/// must outlive the parsing.
void add_training_options(CLI::App& app, FitOptions& options);

/// A check that a value is one of these.
CLI::IsMember one_of(std::initializer_list<const char*> names);

}  // namespace zeroloss::app
