#pragma once
#include <CLI/CLI.hpp>

#include "zeroloss/data/dataset.hpp"

namespace zeroloss::app {

/// The options that say what to read and keep, the same for every command that takes DATA; where n and d are
/// axes, without them. `options` holds the defaults when this is called and must outlive the parsing.
void add_read_options(CLI::App& app, ReadOptions& options, bool n_and_d = true);

}  // namespace zeroloss::app
