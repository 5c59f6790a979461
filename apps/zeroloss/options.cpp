#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <iostream>
#include <optional>
#include <sstream>

#include "command.hpp"
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

// The options of the chosen subcommand as TOML, defaults included; those without a value are left out.
std::string config_text(const CLI::App& app) {
  std::string chosen;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    chosen += at->get_name() + ".";
  }
  std::istringstream lines(app.config_to_str(true, false));
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(chosen, 0) == 0 && !line.ends_with("=\"\"")) text += line + "\n";
  return text;
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
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option Option::non_negative() const {
  option_->check(CLI::NonNegativeNumber);
  return *this;
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

bool Option::given() const { return !option_->empty(); }

void Command::about(const std::string& text) const { app_->description(text); }

void Command::footer(const std::string& text) const { app_->footer(text); }

Command Command::subcommand(const std::string& name) const { return Command(*app_->add_subcommand(name)); }

void Command::require_subcommand() const { app_->require_subcommand(1); }

template <class T>
Option Command::option(const std::string& name, T& field, const std::string& help) const {
  CLI::Option* option = app_->add_option(name, field, in_flags(help))->group(group_);
  if constexpr (std::is_same_v<T, bool>)
    option->default_str(field ? "true" : "false");
  else if (there(field))
    option->capture_default_str();
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

Parser::Parser(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", "zeroloss " ZEROLOSS_VERSION, "Print the version and exit");
  app_->set_config("--config", "", "Read options from a TOML file, as --print-config prints it [none]")
      ->check(CLI::ExistingFile);
  app_->allow_config_extras(CLI::config_extras_mode::error);
  app_->add_flag("--print-config", print_config_, "Print the options in use as TOML and exit [off]")
      ->configurable(false);
  app_->failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("zeroloss: {}; see --help\n", error.what());
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

bool Parser::parse(const std::vector<std::string>& arguments) const {
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  try {
    app_->parse(static_cast<int>(argv.size()), argv.data());
    return true;
  } catch (const CLI::RequiredError& error) {
    if (app_->get_subcommands().empty() && !app_->remaining().empty())
      fmt::print(stderr, "zeroloss: '{}' is not a subcommand; see --help\n", app_->remaining().front());
    else
      app_->exit(error);
    return false;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0;
  }
}

}  // namespace zeroloss::app
