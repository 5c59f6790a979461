#include "data_options.hpp"

#include "field_options.hpp"

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

}  // namespace zeroloss::app
