#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>

#include "command.hpp"

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

}  // namespace zeroloss::app
