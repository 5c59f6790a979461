#pragma once
#include <algorithm>
#include <string>
#include <vector>

/// A program's commands in words, as they were described: what completions and manual pages are made of.
namespace zeroloss::app {

struct OptionText {
  std::vector<std::string> names{};    ///< "-h", "--help"; of an argument "data"
  std::string help{}, heading{};       ///< of --help
  std::string value{};                 ///< what its values are called; "" for a flag
  std::string otherwise{};             ///< the default, if there is one
  std::vector<std::string> choices{};  ///< all values, if they are that few
};

struct CommandText {
  std::string name{};  ///< with those of the commands around it: "zeroloss data get"
  std::string about{}, footer{};
  std::vector<OptionText> arguments{}, options{};
  std::vector<CommandText> parts{};  ///< its subcommands

  std::string word() const { return name.substr(name.rfind(' ') + 1); }  ///< what one types for it

  /// "zeroloss-data-get": the name of its page; of a program, of its file.
  std::string dashed() const {
    std::string text = name;
    std::ranges::replace(text, ' ', '-');
    return text;
  }
};

/// A script for bash, zsh or fish.
std::string completion(const CommandText& program, const std::string& shell);

/// A page for man, in roff. `version` is the program's.
std::string manual_page(const CommandText& command, const std::string& version);

}  // namespace zeroloss::app
