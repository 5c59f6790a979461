#include "field_options.hpp"

#include <algorithm>

namespace zeroloss::app {

std::string flag_of(const Field& field) {
  std::string flag = std::string("--") + field.name;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

Option as_said(const Option& option, const Field& field) {
  if (*field.takes != '\0') option.type_name(field.takes);
  const std::string_view help = field.help;
  if (help.ends_with(']')) option.default_text("");  // the help says it
  std::vector<std::string> choices;
  for (std::string_view rest = field.choices; !rest.empty();) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    choices.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return choices.empty() ? option : option.one_of(choices);
}

}  // namespace zeroloss::app
