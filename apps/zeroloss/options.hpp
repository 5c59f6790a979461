#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// The command line as the commands describe it. CLI11 parses; no header names more of it than this.
namespace zeroloss::app {

struct CommandText;
struct Session;

/// As many as --threads says.
void take_threads(const Session& session);

constexpr std::uint64_t kMostSeed = (std::uint64_t{1} << 53) - 1;

/// One option of a command: what --help says of it and which values it takes.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option type_name(const std::string& name) const;     ///< of its values, in --help
  Option default_text(const std::string& text) const;  ///< in place of the field's value; "" shows none
  Option required() const;
  Option one_of(const std::vector<std::string>& names) const;
  Option between(std::uint64_t least, std::uint64_t most) const;
  Option positive() const;
  Option non_negative() const;
  /// `fault` says what is wrong with a value, "" if nothing; `name` is what --help calls such values.
  Option check(std::string (*fault)(const std::string&), const std::string& name) const;
  Option separated_by(char delimiter) const;  ///< values of a list in one argument
  Option repeated() const;                    ///< of a list: one argument each time the option is given
  Option not_in_config() const;               ///< neither in --config nor in --print-config
  Option unlisted() const;                    ///< parsed, and in no help: the library says why it is refused
  bool given() const;                         ///< once parsed: by the command line or --config

 private:
  CLI::Option* option_;
};

/// A command or one of its subcommands while it is described. Fields hold the defaults when they are named
/// here and must outlive the parsing.
class Command {
 public:
  explicit Command(CLI::App& app, std::string group = "Options") : app_(&app), group_(std::move(group)) {}

  void about(const std::string& text) const;
  void footer(const std::string& text) const;                     ///< what --help ends with
  void examples(const std::vector<std::string>& commands) const;  ///< and these after it
  Command subcommand(const std::string& name) const;
  void require_subcommand() const;

  /// The same command, whose options go under this heading of --help.
  Command group(const std::string& heading) const { return Command(*app_, heading); }

  /// `name` is "--flag"; without dashes an argument told by its place. T is bool, int, Index, std::uint64_t,
  /// double, std::string, an optional Index or double, or a vector of doubles or strings. --help shows what
  /// the field holds, if anything.
  template <class T>
  Option option(const std::string& name, T& field, const std::string& help) const;
  Option flag(const std::string& name, bool& field, const std::string& help) const;      ///< makes it true
  Option flag_off(const std::string& name, bool& field, const std::string& help) const;  ///< makes it false

  /// Arguments and options that it does not know are no errors: they are for another program; with `help_too`
  /// all from the first one on, and --help.
  void leave_arguments(bool help_too) const;

  /// What happens once all is parsed.
  void runs(std::function<void()> work) const;
  /// The same with options that live as long as the command: `work(options, session)`. They are to be filled.
  template <class Options>
  std::remove_const_t<Options>& runs(void (*work)(Options&, Session&), Session& session) const {
    const auto options = std::make_shared<std::remove_const_t<Options>>();
    runs([options, work, &session] {
      take_threads(session);
      work(*options, session);
    });
    return *options;
  }

 private:
  CLI::App* app_;
  std::string group_;
};

/// A program's command line. --version, --config and --print-config are here.
class Parser {
 public:
  Parser(const std::string& description, const std::string& name);
  ~Parser();
  Command root() const;

  /// Parses `arguments`, the program's own name first, and runs what was described; what that throws passes.
  /// Prints --help and the like, and what is wrong with the arguments: false.
  bool parse(const std::vector<std::string>& arguments) const;

  /// All that was described, with the options of the program itself at every command.
  CommandText text() const;

  /// A message about an argument of the library, "fit: max_steps must be ..", as one about what was typed:
  /// "--max-steps must be ..". Other messages stay as they are.
  std::string as_typed(const std::string& message) const;

 private:
  bool refuse_extras() const;
  void refuse_line(const std::string& message) const;

  std::unique_ptr<CLI::App> app_;
  bool print_config_ = false;
};

}  // namespace zeroloss::app
