#include "data_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "field_options.hpp"
#include "zeroloss/sources/readers.hpp"

namespace zeroloss::app {

void add_source(const Command& command, std::string& source) {
  command
      .option("data", source,
              "A file, a folder, - (standard input), or a name such as digits or sphere:n=100,d=20")
      .required();
}

void add_read_options(const Command& command, ReadOptions& o, bool n_and_d) {
  add_fields(command, o, [&](const Field& field) {
    const std::string_view name = field.name;
    return n_and_d || (name != "n" && name != "d");
  });
}

void add_read_options_of_model(const Command& command, ReadOptions& o) {
  add_fields(command, o, any_field, [](const Field& field, const Option& option) {
    if (const std::string_view name = field.name; name == "standardize" || name == "bias") option.unlisted();
  });
}

void add_targets(const Command& command, std::vector<std::string>& targets, const char* help) {
  command.group("Data").option("--targets", targets, help).type_name("A,B,...").separated_by(',');
}

std::vector<ReadOptions> reading_each(const std::string& source, const std::vector<std::string>& targets,
                                      const ReadOptions& options) {
  if (source == "-")
    throw std::invalid_argument(
        "`targets` reads the data once for each: standard input is there once, give a file");
  if (!options.target.empty()) throw std::invalid_argument("`targets` and `target` exclude each other");
  std::vector<ReadOptions> each;
  for (const std::string& name : targets) {
    if (std::ranges::count(targets, name) > 1)
      throw std::invalid_argument(fmt::format("`targets` has '{}' twice", name));
    ReadOptions read = options;
    read.target = name;
    read.n = 0, read.shuffle = false;  // of the records that have all of them
    std::ranges::copy_if(targets, std::back_inserter(read.drop),
                         [&](const std::string& other) { return other != name; });
    each.push_back(std::move(read));
  }
  return each;
}

void add_copy_points(const Command& command, bool& copy_points) {
  command.flag(
      "--copy-points", copy_points,
      "Copy points of more than 100 MB into the run folder too, so that its claims are about them [off]");
}

Dataset read_test(const std::string& source, const Dataset& data, const ReadOptions& read,
                  Progress& progress) {
  progress.stage("reading " + source);
  const ReadOptions options = test_options(source, data, read);
  return select_test(data, open_source(source, options), options);
}

}  // namespace zeroloss::app
