#include "data_options.hpp"

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

Dataset read_test(const std::string& source, const Dataset& data, const ReadOptions& read,
                  Progress& progress) {
  progress.stage("reading " + source);
  const ReadOptions options = test_options(source, data, read);
  return select_test(data, open_source(source, options), options);
}

}  // namespace zeroloss::app
