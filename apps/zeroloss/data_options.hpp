#pragma once
#include <CLI/CLI.hpp>

#include "zeroloss/data/dataset.hpp"

namespace zeroloss::app {

/// The options that say what to read and keep, the same for every command that takes DATA. `options` holds
/// the defaults when this is called and must outlive the parsing.
void add_read_options(CLI::App& app, ReadOptions& options);

}  // namespace zeroloss::app
