#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace zeroloss {

enum class Rounding { nearest, down, up };

/// x with `digits` significant digits ("0.0601209", "5.7e+18"), rounded as asked, so that a printed bound is
/// one too.
std::string decimal(double x, int digits, Rounding rounding = Rounding::nearest);

std::string with_commas(long long value);  ///< 1234567 -> "1,234,567"

/// "1 point", "1,797 points".
std::string count(long long value, const char* one, const char* many);

bool is_utf8(std::string_view text);

/// Text as UTF-8: as it is where it is valid, else read as Latin-1. Names in data have to pass through this
/// before they are compared with those of a loaded model.
std::string utf8(std::string_view text);

/// What a message quotes of data: at most 80 characters and then "..", in one line. Control characters and
/// bytes that are not UTF-8 are written as \n, \t and \x1B, so that no file can speak to a terminal.
std::string excerpt(std::string_view text);
std::string excerpt(const std::vector<std::string>& words);  ///< with commas between them

/// Text for a terminal: control characters other than new lines and tabs, and bytes that are not UTF-8, as
/// \x1B.
std::string printable(std::string_view text);

/// A word as a shell reads it, and a command of such words.
std::string shell_word(std::string_view text);
std::string shell_command(const std::vector<std::string>& words);

}  // namespace zeroloss
