#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "command.hpp"
#include "command_text.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::app {
namespace {

constexpr const char* kExitStatus =
    "0 done; 1 a required property does not hold, or memorize found no network; 2 bad usage or data; 3 "
    "missing memory, disk or back end; "
    "128 + the signal's number where a signal has stopped it (130 for Ctrl-C).";

/// Text as roff reads it back. A line that begins with a dot would be a request.
std::string roff(const std::string& text) {
  std::string said;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((i == 0 || text[i - 1] == '\n') && (c == '.' || c == '\'')) said += "\\&";
    if (c == '\\')
      said += "\\e";
    else if (c == '-')
      said += "\\-";
    else if (c == '\'')
      said += "\\(aq";
    else if (c == '^')
      said += "\\(ha";
    else if (c == '~')
      said += "\\(ti";
    else if (c == '`')
      said += "\\(ga";
    else
      said += c;
  }
  return said;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string entry(const OptionText& option) {
  std::string names, choices;
  for (const std::string& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  if (!option.value.empty() && option.names.front().starts_with("-"))
    names += fmt::format(" \\fI{}\\fR", roff(option.value));
  for (const std::string& choice : option.choices)
    choices += fmt::format("{}{}", choices.empty() ? "\n.br\nOne of " : ", ", roff(choice));
  const std::string otherwise = option.otherwise.empty() ? "" : fmt::format(" [{}]", roff(option.otherwise));
  return fmt::format(".TP\n{}\n{}{}{}\n", names, roff(option.help), otherwise, choices);
}

/// As they stand: examples, and what else --help ends with.
std::string sections(const std::string& footer) {
  constexpr std::string_view kExamples = "Examples:\n";
  const std::size_t at = std::min(footer.find(kExamples), footer.size());
  std::string text;
  const auto add = [&](const char* title, const std::string& lines) {
    if (lines.find_first_not_of(" \n") != std::string::npos)
      text += fmt::format(".SH {}\n.nf\n{}\n.fi\n", title, roff(lines));
  };
  add("NOTES", footer.substr(0, at));
  if (at < footer.size()) add("EXAMPLES", footer.substr(at + kExamples.size()));
  return text;
}

const CommandText& find(const CommandText& program, const std::vector<std::string>& words) {
  const CommandText* at = &program;
  for (const std::string& word : words) {
    const auto part = std::ranges::find(at->parts, word, &CommandText::word);
    if (part == at->parts.end())
      throw std::invalid_argument(fmt::format("'{}' is not a command of {}", word, at->name));
    at = &*part;
  }
  return *at;
}

void write_all(const CommandText& command, const std::filesystem::path& folder) {
  write_file(folder / (command.dashed() + ".1"), manual_page(command, ZEROLOSS_VERSION));
  for (const CommandText& part : command.parts) write_all(part, folder);
}

struct ManArguments {
  std::vector<std::string> command;
  std::string out;
};

void run_man(const ManArguments& options, Session& session) {
  const CommandText program = session.text();
  const CommandText& command = find(program, options.command);
  if (options.out.empty())
    write_answer(manual_page(command, ZEROLOSS_VERSION));
  else
    write_all(command, options.out);
}

}  // namespace

std::string manual_page(const CommandText& command, const std::string& version) {
  std::string text =
      fmt::format(".TH {} 1 \"\" \"zeroloss {}\" \"zeroloss\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR",
                  roff(upper(command.dashed())), version, roff(command.dashed()), roff(command.about),
                  roff(command.name));
  text += command.options.empty() ? "" : " [\\fIOPTIONS\\fR]";
  for (const OptionText& argument : command.arguments)
    text += fmt::format(" \\fI{}\\fR", roff(argument.names.front()));
  if (!command.parts.empty()) text += " \\fICOMMAND\\fR ..";
  text += "\n";
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const OptionText& argument : command.arguments) text += entry(argument);
  if (!command.parts.empty()) text += ".SH COMMANDS\n";
  for (const CommandText& part : command.parts)
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(part.dashed()), roff(part.about));
  std::vector<std::string> headings;
  for (const OptionText& option : command.options)
    if (std::ranges::find(headings, option.heading) == headings.end()) headings.push_back(option.heading);
  for (const std::string& heading : headings) {
    text += fmt::format(".SH {}\n", roff(upper(heading)));
    for (const OptionText& option : command.options)
      if (option.heading == heading) text += entry(option);
  }
  text += sections(command.footer);
  text += fmt::format(".SH EXIT STATUS\n{}\n", roff(kExitStatus));
  const std::string page = command.dashed();
  if (const std::size_t around = page.rfind('-'); command.name.find(' ') != std::string::npos)
    text += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", roff(page.substr(0, around)));
  return text;
}

void add_man(Command& command, Session& session) {
  command.about("Print the manual page of a command");
  auto& o = command.runs(run_man, session);
  command.option("command", o.command, "Of which command; none: of the whole program").type_name("COMMAND");
  command.option("--out", o.out, "Write the page and those of its subcommands into this folder [none]")
      .type_name("FOLDER");
  command.examples({"zeroloss man fit | man -l -", "zeroloss man data get", "zeroloss man --out ."});
}

}  // namespace zeroloss::app
