#include "command.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

namespace zeroloss::app {
namespace {

std::atomic<bool> cancelled{false};

// The first Ctrl-C asks for a stop at the next safe point, the second ends the process.
void on_interrupt(int) {
  cancelled.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
}

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void draw(const ProgressReport& report) {
  if (report.finished) {
    fmt::print(stderr, "\r\033[K");
    return;
  }
  std::string line = report.stage;
  if (report.total > 0) {
    constexpr int kWidth = 24;
    const double fraction = std::clamp(report.done / report.total, 0.0, 1.0);
    const int filled = static_cast<int>(fraction * kWidth);
    line += fmt::format("  [{}{}] {:3.0f} %", std::string(static_cast<std::size_t>(filled), '#'),
                        std::string(static_cast<std::size_t>(kWidth - filled), ' '), 100 * fraction);
    line += fmt::format("  {:.3g}/s", report.rate);
    if (report.left_s >= 0) line += "  " + duration(report.left_s) + " left";
  } else {
    line += fmt::format("  {:.0f}  {}", report.done, duration(report.elapsed_s));
  }
  if (!report.note.empty()) line += "  " + report.note;
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(1, terminal_width() - 1))));
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
}

bool numeric(const std::string& cell) {
  return !cell.empty() && std::string("0123456789-+.~<>=").find(cell.front()) != std::string::npos;
}

// Columns on the terminal: UTF-8 continuation bytes take none.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

Progress Session::progress() const {
  std::signal(SIGINT, on_interrupt);
  if (quiet || isatty(STDERR_FILENO) == 0) return Progress({}, &cancelled);
  return Progress(draw, &cancelled);
}

std::string quoted(const std::vector<std::string>& arguments) {
  std::string line;
  for (const auto& argument : arguments) {
    const bool plain =
        argument.find_first_of(" \t\"'\\$*?;&|<>(){}") == std::string::npos && !argument.empty();
    line += (line.empty() ? "" : " ") + (plain ? argument : "'" + argument + "'");
  }
  return line;
}

Table::Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

void Table::add(std::vector<std::string> row) {
  row.resize(rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string Table::text(const std::string& indent) const {
  const std::size_t count = rows_.front().size();
  std::vector<std::size_t> width(count, 0);
  std::vector<bool> right(count, rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (std::size_t c = 0; c < count; ++c) {
      width[c] = std::max(width[c], columns(rows_[r][c]));
      if (r > 0 && !rows_[r][c].empty() && !numeric(rows_[r][c])) right[c] = false;
    }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t c = 0; c < count; ++c) {
      const std::string space(width[c] - columns(row[c]), ' ');
      line += (c > 0 ? "  " : "") + (right[c] ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string short_number(double value, Rounding rounding) {
  const double size = std::abs(value);
  if (!std::isfinite(value) || (size != 0 && (size >= 1e6 || size < 1e-4)))
    return decimal(value, 2, rounding);
  if (value == std::floor(value)) return with_commas(static_cast<long long>(value));
  return decimal(value, 4, rounding);
}

}  // namespace zeroloss::app
