#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "command.hpp"
#include "command_text.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::app {
namespace {

/// Every command, those around it first.
void visit(const CommandText& command, const std::function<void(const CommandText&)>& use) {
  use(command);
  for (const CommandText& part : command.parts) visit(part, use);
}

std::string function_of(const CommandText& program) {
  std::string name = "_" + program.name;
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
}

std::vector<std::string> parts_of(const CommandText& command) {
  std::vector<std::string> words;
  words.reserve(command.parts.size());
  for (const CommandText& part : command.parts) words.push_back(part.word());
  return words;
}

/// What may stand where no option is begun.
std::vector<std::string> words_of(const CommandText& command) {
  std::vector<std::string> words = parts_of(command);
  for (const OptionText& argument : command.arguments)
    words.insert(words.end(), argument.choices.begin(), argument.choices.end());
  return words;
}

std::vector<std::string> names_of(const std::vector<OptionText>& options) {
  std::vector<std::string> names;
  for (const OptionText& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// bash and zsh: which command the line is in, what may follow, and how each of them says so.
struct Dialect {
  const char* begin;  ///< with the program's function
  const char* offer;  ///< with words
  bool together;      ///< the words as one
  const char* files;  ///< names of files
  const char* end;    ///< with the function and the program
};

constexpr Dialect kBash{.begin = R"(# Completion of {1} for bash; made by `completion bash`.
{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} at word
  COMPREPLY=()
  # --option=value is three words to bash.
  if [[ $current == = ]]; then current=
  elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  at='{2}'
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
)",
                        .offer = "COMPREPLY=($(compgen -W {} -- \"$current\"))",
                        .together = true,
                        .files = "COMPREPLY=($(compgen -f -- \"$current\"))",
                        .end = "}}\ncomplete -o default -F {0} {1}\n"};

constexpr Dialect kZsh{
    .begin = R"(#compdef {1}
# Completion of {1} for zsh; made by `completion zsh`.
{0}() {{
  local current=${{words[CURRENT]}} before=${{words[CURRENT-1]}} at word
  if [[ $current == --*=* ]]; then
    before=${{current%%=*}}
    compset -P '*='
  fi
  at='{2}'
  for word in "${{(@)words[2,CURRENT-1]}}"; do
)",
    .offer = "compadd -- {}",
    .together = false,
    .files = "_files",
    .end = "}}\nif [[ $funcstack[1] == {0} ]]; then {0} \"$@\"\nelse compdef {0} {1}\nfi\n"};

std::string script(const CommandText& program, const Dialect& dialect) {
  const auto offer = [&](const std::vector<std::string>& words) {
    const std::string all = fmt::format("{}", fmt::join(words, " "));
    return fmt::format(fmt::runtime(dialect.offer),
                       dialect.together ? shell_word(all) : shell_command(words));
  };
  std::string text =
      fmt::format(fmt::runtime(dialect.begin), function_of(program), program.dashed(), program.name);
  text += "    case \"$at $word\" in\n";
  visit(program, [&](const CommandText& command) {
    if (&command != &program) text += fmt::format("      '{0}') at='{0}' ;;\n", command.name);
  });
  text += "    esac\n  done\n  case \"$at $before\" in\n";
  visit(program, [&](const CommandText& command) {
    for (const OptionText& option : command.options) {
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      patterns.reserve(option.names.size());
      for (const std::string& name : option.names)
        patterns.push_back(fmt::format("'{} {}'", command.name, name));
      text += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, "|"),
                          option.choices.empty() ? dialect.files : offer(option.choices));
    }
  });
  text += "  esac\n  case \"$at\" in\n";
  visit(program, [&](const CommandText& command) {
    const auto words = words_of(command);
    text += fmt::format("    '{}')\n      if [[ $current == -* ]]; then {}\n      else {}\n      fi ;;\n",
                        command.name, offer(names_of(command.options)),
                        words.empty() ? dialect.files : offer(words));
  });
  return text + "  esac\n" + fmt::format(fmt::runtime(dialect.end), function_of(program), program.dashed());
}

std::string fish(const CommandText& program) {
  std::string text =
      fmt::format("# Completion of {} for fish; made by `completion fish`.\n", program.dashed());
  const auto quoted = [](const std::string& words) {
    std::string said = "'";
    for (const char c : words) said += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return said + "'";
  };
  const std::function<void(const CommandText&, const std::string&)> add = [&](const CommandText& command,
                                                                              const std::string& condition) {
    const auto words = parts_of(command);  // each is offered while none was typed
    for (const CommandText& part : command.parts)
      text += fmt::format(
          "complete -c {} -n {} -f -a {} -d {}\n", program.dashed(),
          quoted(fmt::format("{}not __fish_seen_subcommand_from {}",
                             condition.empty() ? "" : condition + "; and ", fmt::join(words, " "))),
          part.word(), quoted(part.about));
    for (const OptionText& argument : command.arguments)
      if (!argument.choices.empty())
        text +=
            fmt::format("complete -c {} -n {} -f -a {} -d {}\n", program.dashed(), quoted(condition),
                        quoted(fmt::format("{}", fmt::join(argument.choices, " "))), quoted(argument.help));
    for (const OptionText& option : command.options) {
      text += fmt::format("complete -c {}{}", program.dashed(),
                          condition.empty() ? "" : " -n " + quoted(condition));
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty())
        text += option.choices.empty()
                    ? " -r"
                    : " -x -a " + quoted(fmt::format("{}", fmt::join(option.choices, " ")));
      text += " -d " + quoted(option.help) + "\n";
    }
    for (const CommandText& part : command.parts)
      add(part,
          (condition.empty() ? "" : condition + "; and ") + "__fish_seen_subcommand_from " + part.word());
  };
  add(program, "");
  return text;
}

struct CompletionArguments {
  std::string shell;
};

void run_completion(const CompletionArguments& options, Session& session) {
  write_answer(completion(session.text(), options.shell));
}

}  // namespace

std::string completion(const CommandText& program, const std::string& shell) {
  return shell == "fish" ? fish(program) : script(program, shell == "zsh" ? kZsh : kBash);
}

void add_completion(Command& command, Session& session) {
  command.about("Print a script that completes commands, options and their values in a shell");
  auto& o = command.runs(run_completion, session);
  command.option("shell", o.shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  command.examples({"source <(zeroloss completion bash)", "zeroloss completion zsh > ~/.zfunc/_zeroloss",
                    "zeroloss completion fish > ~/.config/fish/completions/zeroloss.fish"});
}

}  // namespace zeroloss::app
