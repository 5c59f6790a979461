#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <numeric>
#include <optional>

#include "cli11.hpp"
#include "command.hpp"
#include "command_text.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::app {
namespace {

// Whether --help has something to show.
template <class T>
bool there(const T&) {
  return true;
}
template <class T>
bool there(const std::optional<T>& field) {
  return field.has_value();
}
template <class T>
bool there(const std::vector<T>& field) {
  return !field.empty();
}

// The command that the arguments are of.
const CLI::App& chosen(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

// The options of the chosen subcommand as TOML, defaults included; those without a value are left out.
std::string config_text(const CLI::App& app) {
  std::string section;
  for (const CLI::App* at = &chosen(app); at != &app; at = at->get_parent())
    section.insert(0, at->get_name() + ".");
  std::string text;
  for (const std::string& line : CLI::detail::split(app.config_to_str(true, false), '\n'))
    if (line.starts_with(section) && !line.ends_with("=\"\"")) text += line + "\n";
  return text;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

// "-h", "--help"; of an argument its only name.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (names.empty()) names.push_back(option.get_name());
  return names;
}

// What may be typed at a command: options, its own and those around it, and subcommands.
std::vector<std::string> known_at(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
    for (const CLI::Option* option : at->get_options())
      if (!option->get_positional())
        for (const std::string& name : names_of(*option)) names.push_back(name);
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(part->get_name());
  return names;
}

// Letters to insert, leave out, change or exchange with the next one to come from one word to the other.
std::size_t distance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> before, last(to.size() + 1), row(to.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[to.size()];
}

// "; did you mean --width?", or where to look if no name is near.
std::string meant(const std::string& typed, const std::vector<std::string>& known) {
  constexpr std::size_t kMost = 2;
  const std::string* nearest = nullptr;
  std::size_t least = kMost + 1;
  for (const std::string& name : known) {
    const std::size_t changes = distance(typed, name);
    const std::size_t letters = name.size() - std::min(name.size(), name.find_first_not_of('-'));
    if (changes < least && changes < letters) {
      least = changes;
      nearest = &name;
    }
  }
  return nearest == nullptr ? "; see --help" : fmt::format("; did you mean {}?", *nearest);
}

OptionText text_of(const CLI::Option& option) {
  OptionText text{.names = names_of(option), .help = option.get_description(), .heading = option.get_group()};
  text.otherwise = option.get_default_str();
  if (option.get_items_expected_max() == 0) {
    text.otherwise.clear();  // a flag
    return text;
  }
  // "TEXT:{a,b}": the choices follow the name.
  const std::string type = option.get_type_name();
  const std::size_t open = type.find(":{"), close = type.find('}');
  text.value = type.substr(0, type.find(':'));
  if (open != std::string::npos)
    text.choices = CLI::detail::split(type.substr(open + 2, close - open - 2), ',');
  return text;
}

CommandText text_of(const CLI::App& app) {
  CommandText text{.name = full_name(app), .about = app.get_description(), .footer = app.get_footer()};
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
    for (const CLI::Option* option : at->get_options())
      if (option->get_positional())
        text.arguments.push_back(text_of(*option));
      else if (!option->get_group().empty() && (at == &app || option != at->get_help_ptr()))
        text.options.push_back(text_of(*option));
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; }))
    text.parts.push_back(text_of(*part));
  return text;
}

// Nobody means an empty name or path: a script has a variable that is not set.
std::string check_something(const std::string& value) {
  return value.empty() ? "its value is empty; give one or leave the option out" : "";
}

// CLI11 would take 99999999999999999999 for the largest number there is, and 010 for 8.
template <class T>
std::string check_integer(std::string& text) {
  const char* end = text.data() + text.size();
  if (std::is_unsigned_v<T> && text.starts_with('-')) return text + " is below 0";
  T value{};
  const bool plus = text.starts_with('+') && !text.starts_with("+-");
  const auto read = std::from_chars(text.data() + (plus ? 1 : 0), end, value);
  if (read.ec == std::errc::result_out_of_range) return text + " is beyond what it can hold";
  if (read.ec != std::errc{} || read.ptr != end) return "'" + text + "' is no whole number";
  text = fmt::to_string(value);
  return "";
}

std::string check_number(const std::string& text) {
  const auto value = parsed_number(text);
  if (!value) return "'" + text + "' is no number";
  const bool digits = text.find_first_of("0123456789") != std::string::npos;
  return std::isinf(*value) && digits ? text + " is beyond what it can hold" : "";
}

// The text of a default value in --help: CLI11 would write numbers as the locale of the program does.
template <class T>
std::string shown(const T& field) {
  if constexpr (std::is_same_v<T, std::string>)
    return field;
  else if constexpr (std::is_floating_point_v<T>)
    return fmt::format("{:g}", field);
  else if constexpr (std::is_integral_v<T>)
    return fmt::format("{}", field);
  else if constexpr (std::is_same_v<T, std::vector<double>>)
    return fmt::format("[{:g}]", fmt::join(field, ","));
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return fmt::format("[{}]", fmt::join(field, ","));
  else
    return "";
}

template <class T>
struct NumberOf {
  using type = T;
};
template <class T>
struct NumberOf<std::optional<T>> {
  using type = T;
};
template <class T>
struct NumberOf<std::vector<T>> {
  using type = T;
};

// Of the values of a field, or of each in a list.
template <class T>
void add_checks(CLI::Option& option) {
  using Value = typename NumberOf<T>::type;
  if constexpr (std::is_same_v<Value, std::string>)
    option.check(CLI::Validator(check_something, ""));
  else if constexpr (std::is_floating_point_v<Value>)
    option.check(CLI::Validator(check_number, ""));
  else if constexpr (!std::is_same_v<Value, bool>)
    option.transform(CLI::Validator(check_integer<Value>, ""));
}

}  // namespace

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::default_text(const std::string& text) const {
  option_->default_str(text);
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::one_of(const std::vector<std::string>& names) const {
  option_->check(CLI::IsMember(names));
  return *this;
}

Option Option::between(std::uint64_t least, std::uint64_t most) const {
  CLI::Range range(least, most, "UINT");
  range.description(fmt::format("UINT in [{} - {}]", least, most));
  option_->check(range);
  return *this;
}

Option Option::positive() const {
  return check([](auto& text) { return parsed_number(text) > 0 ? "" : text + " is not above 0"; },
               "POSITIVE");
}

Option Option::non_negative() const {
  return check([](auto& text) { return parsed_number(text) >= 0 ? "" : text + " is below 0"; },
               "NONNEGATIVE");
}

Option Option::check(std::string (*fault)(const std::string&), const std::string& name) const {
  option_->check(CLI::Validator(fault, name));
  return *this;
}

Option Option::separated_by(char delimiter) const {
  option_->delimiter(delimiter);
  return *this;
}

Option Option::repeated() const {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::not_in_config() const {
  option_->configurable(false);
  return *this;
}

Option Option::unlisted() const {
  option_->group("");
  return *this;
}

bool Option::given() const { return !option_->empty(); }

void Command::about(const std::string& text) const { app_->description(text); }

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::examples(const std::vector<std::string>& commands) const {
  std::string text = app_->get_footer();
  if (!text.empty()) text += "\n\n";
  text += "Examples:";
  for (const std::string& command : commands) text += "\n  " + command;
  app_->footer(text);
}

Command Command::subcommand(const std::string& name) const { return Command(*app_->add_subcommand(name)); }

void Command::require_subcommand() const { app_->require_subcommand(1); }

template <class T>
Option Command::option(const std::string& name, T& field, const std::string& help) const {
  CLI::Option* option = app_->add_option(name, field, in_flags(help))->group(group_);
  if (there(field)) option->default_str(shown(field));
  add_checks<T>(*option);
  return Option(option);
}
template Option Command::option(const std::string&, bool&, const std::string&) const;
template Option Command::option(const std::string&, int&, const std::string&) const;
template Option Command::option(const std::string&, std::ptrdiff_t&, const std::string&) const;
template Option Command::option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Command::option(const std::string&, double&, const std::string&) const;
template Option Command::option(const std::string&, std::string&, const std::string&) const;
template Option Command::option(const std::string&, std::optional<std::ptrdiff_t>&, const std::string&) const;
template Option Command::option(const std::string&, std::optional<double>&, const std::string&) const;
template Option Command::option(const std::string&, std::vector<double>&, const std::string&) const;
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&) const;

Option Command::flag(const std::string& name, bool& field, const std::string& help) const {
  return Option(app_->add_flag(name, field, in_flags(help))->group(group_));
}

Option Command::flag_off(const std::string& name, bool& field, const std::string& help) const {
  return Option(app_->add_flag_callback(
                        name, [&field] { field = false; }, in_flags(help))
                    ->group(group_));
}

void Command::leave_arguments(bool help_too) const {
  app_->fallthrough(false);
  if (!help_too) {
    app_->allow_extras();
    return;
  }
  app_->prefix_command();
  app_->set_help_flag();
}

void Command::runs(std::function<void()> work) const { app_->callback(std::move(work)); }

namespace {

/// CLI11 passes over lines of one or two characters, which are no options: an error, but for comments and
/// ends of lists.
std::string refuse_config(const std::string& path) {
  if (std::filesystem::is_directory(path)) return "is a folder: " + path;
  if (std::string missing = CLI::ExistingFile(path); !missing.empty()) return missing;
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    CLI::detail::trim(line);
    if (!line.empty() && line.size() < 3 && line.find_first_of("#;]") == std::string::npos)
      return fmt::format("{}, line {}: '{}' is not an option", path, number, excerpt(line));
  }
  return {};
}

}  // namespace

Parser::Parser(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("-V,--version", "zeroloss " ZEROLOSS_VERSION, "Print the version and exit");
  app_->set_config("--config", "", "Read options from a TOML file, as --print-config prints it [none]")
      ->check(CLI::Validator(refuse_config, "FILE"));
  app_->allow_config_extras(CLI::config_extras_mode::error);
  app_->add_flag("--print-config", print_config_, "Print the options in use as TOML and exit [off]")
      ->configurable(false);
  app_->failure_message([](const CLI::App*, const CLI::Error& error) {
    return printable(fmt::format("zeroloss: {}; see --help\n", error.what()));
  });
  app_->require_subcommand(1);
  app_->fallthrough();
  app_->get_formatter()->column_width(34);
  app_->parse_complete_callback([this] {
    if (!print_config_) return;
    std::cout << config_text(*app_);
    throw CLI::Success();
  });
}

Parser::~Parser() = default;

Command Parser::root() const { return Command(*app_); }

CommandText Parser::text() const { return text_of(*app_); }

std::string Parser::as_typed(const std::string& message) const {
  const std::size_t colon = message.find(": ");
  if (colon == std::string::npos || message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != colon)
    return message;
  const std::size_t begin = colon + 2, end = message.find(' ', begin);
  std::string flag = "--" + message.substr(begin, end - begin);
  std::ranges::replace(flag, '_', '-');
  const auto known = known_at(chosen(*app_));
  return std::ranges::find(known, flag) == known.end() ? message : flag + message.substr(end);
}

// What is left over after parsing: something is typed wrongly.
bool Parser::refuse_extras() const {
  const auto rest = app_->remaining(true);
  if (rest.empty()) return false;
  const CLI::App& command = chosen(*app_);
  const auto flag = std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with("-"); });
  const bool needs_part = command.get_require_subcommand_min() > 0;
  const std::string typed =
      needs_part || flag == rest.end() ? rest.front() : flag->substr(0, flag->find('='));
  tell(fmt::format("zeroloss: '{}' is not {} of {}{}\n", typed,
                   typed.starts_with("-") ? "an option"
                   : needs_part           ? "a subcommand"
                                          : "an argument",
                   full_name(command), meant(typed, known_at(command))));
  return true;
}

// What a file of options says beside options; the parser names it last.
void Parser::refuse_line(const std::string& message) const {
  const std::string item = message.substr(message.rfind(' ') + 1);
  std::string flag = "--" + item.substr(item.rfind('.') + 1);
  tell(fmt::format("zeroloss: {}: '{}' is not an option of {}{}; --print-config shows a file of options\n",
                   app_->get_config_ptr()->as<std::string>(), excerpt(item), full_name(chosen(*app_)),
                   meant(flag, known_at(chosen(*app_)))));
}

bool Parser::parse(const std::vector<std::string>& arguments) const {
  std::vector<const char*> argv;
  argv.reserve(arguments.size());
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  try {
    app_->parse(static_cast<int>(argv.size()), argv.data());
    return true;
  } catch (const CLI::ExtrasError&) {
    refuse_extras();
    return false;
  } catch (const CLI::RequiredError& error) {
    const bool needs_part = chosen(*app_).get_require_subcommand_min() > 0;
    if (!needs_part || !refuse_extras()) app_->exit(error);
    return false;
  } catch (const CLI::ConfigError& error) {
    refuse_line(error.what());
    return false;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0;
  }
}

}  // namespace zeroloss::app
