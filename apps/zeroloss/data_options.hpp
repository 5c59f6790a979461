#pragma once
#include <string>
#include <vector>

#include "options.hpp"
#include "zeroloss/data/dataset.hpp"

namespace zeroloss::app {

/// The argument DATA of the commands that read one set, required.
void add_source(const Command& command, std::string& source);

/// The options that say what to read and keep, the same for every command that takes DATA; where n and d are
/// axes, without them. `options` holds the defaults when this is called and must outlive the parsing.
void add_read_options(const Command& command, ReadOptions& options, bool n_and_d = true);

/// The same where a model is given, whose file says what is done to points or leaves them as they are:
/// without
/// --standardize and --bias.
void add_read_options_of_model(const Command& command, ReadOptions& options);

/// The option --targets, columns that are targets together.
void add_targets(const Command& command, std::vector<std::string>& targets, const char* help);

/// How to read the source with each of these columns as the target of all but these. Throws
/// std::invalid_argument for a column twice, beside --target, and of standard input, which is read once.
std::vector<ReadOptions> reading_each(const std::string& source, const std::vector<std::string>& targets,
                                      const ReadOptions& options);

/// Of commands that write claims: a flag beside --out.
void add_copy_points(const Command& command, bool& copy_points);

/// The points of --test, read as `data` were with `read`.
Dataset read_test(const std::string& source, const Dataset& data, const ReadOptions& read,
                  Progress& progress);

}  // namespace zeroloss::app
