#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "present/next_out.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/present/conv.hpp"

// Apart from the others: the build for LibTorch alone has this file and not those.
namespace zeroloss {
namespace internal {

std::filesystem::path unused(const std::filesystem::path& name) {
  std::filesystem::path free = name;
  for (int k = 2; std::filesystem::exists(free) || std::filesystem::exists(free.string() + ".partial"); ++k)
    free = name.parent_path() / (name.stem().string() + fmt::format("{}", k) + name.extension().string());
  return free;
}

void leave_out(const std::string& option, std::vector<std::string>& words) {
  const auto at = std::ranges::find(words, option);
  if (at != words.end()) words.erase(at, at + std::min<std::ptrdiff_t>(2, words.end() - at));
  std::erase_if(words, [&](const std::string& word) { return word.starts_with(option + "="); });
}

std::vector<std::string> typed_again(std::vector<std::string> words) {
  if (words.empty()) return words;
  words.front() = "zeroloss";
  leave_out("--threads", words);
  return words;
}

Next with_out(Next next, const char* out) {
  next.command = typed_again(std::move(next.command));
  leave_out("--out", next.command);
  next.command.insert(next.command.end(), {"--out", unused(out).string()});
  return next;
}

}  // namespace internal

using namespace internal;

Next after_conv(const std::vector<std::string>& words, const std::string& source, const std::string& out,
                const ConvResult& r) {
  if (r.status == ConvStatus::interrupted) return {};
  if (r.status == ConvStatus::diverged)
    return {"take a smaller learning rate (learning_rate), or warm up longer", {}};
  if (out.empty()) return with_out({"keep this network", words}, "run");
  if (r.test) return after_conv_evaluation(out);
  return {"see how often it is right on images it has not seen", {"zeroloss", "conv", "eval", out, source}};
}

Next after_conv_evaluation(const std::string& model) {
  return {"take the network to other programs", {"zeroloss", "export", model, "model.onnx"}};
}

std::string next_text(const Next& next) {
  if (next.why.empty()) return "";
  if (next.command.empty()) return fmt::format("next: {}\n", next.why);
  const bool piped = std::ranges::find(next.command, "-") != next.command.end();
  return fmt::format("next: {}\n  {}\n{}", next.why, shell_command(next.command),
                     piped ? "  (what was piped in is gone: put it into a file, and name that)\n" : "");
}

}  // namespace zeroloss
