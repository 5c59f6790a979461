// zeroloss-check: decides the claims of a run folder in ball arithmetic.

#include <fcntl.h>
#include <flint/flint.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <optional>

#include "ball.hpp"
#include "kinds.hpp"
#include "table.hpp"
#include "verdict.hpp"

namespace check {
namespace {

constexpr const char* kHelp =
    R"(Usage: zeroloss-check [OPTIONS] RUN
Decides every claim in RUN/claims.json, in ball arithmetic, sharing nothing with zeroloss. What was found of all of
them is written to RUN/checked.json, which a report shows.

Options:
  -h,--help          Print this help and exit
  --version          Print the version, and FLINT's, and exit
  --all              Show the claims that hold too [only how many]
  --kind KIND        Decide claims of this kind alone; may be given again
  --json             Print one JSON object
  --precision BITS   At least these bits for the midpoints of balls, 64 to 100000 [as many as it takes]
  --data TABLE       A csv file of numbers: its columns have to hold the values of every array of points

Exit status: 0 all claims hold, 1 one does not, 2 RUN cannot be read, 4 something is not decided.
)";

using Check = std::function<std::string(const Folder&, const Json&, const std::string&)>;

const std::map<std::string, Check> kKinds = {
    {"lambda_min", check_lambda_min},
    {"separation", check_separation},
    {"equal_points", check_equal_points},
    {"antipodal", check_antipodal},
    {"conflict", check_conflict},
    {"too_few", check_too_few},
    {"biased", check_biased},
    {"labels", check_labels},
    {"memorised", check_memorised},
    {"misfit", check_misfit},
    {"existence", check_existence},
    {"descent", check_descent},
    {"last_layer", check_last_layer},
    {"theorem", check_theorem},
    {"factorisation", check_factorisation},
};

struct Options {
  std::string run, data;
  std::vector<std::string> kinds;
  bool json = false, all = false;
  slong bits = 64;
};

struct Usage {
  std::string message;
};

Options options_of(int argc, char** argv) {
  Options options;
  const auto value = [&](int& i) -> std::string {
    if (i + 1 >= argc) {
      throw Usage{std::string(argv[i]) + " needs a value"};
    }
    return argv[++i];
  };
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--all") {
      options.all = true;
    } else if (arg == "--json") {
      options.json = true;
    } else if (arg == "--kind") {
      options.kinds.push_back(value(i));
    } else if (arg == "--data") {
      options.data = value(i);
    } else if (arg == "--precision") {
      const std::string bits = value(i);
      if (bits.empty() || bits.size() > 6 || bits.find_first_not_of("0123456789") != std::string::npos ||
          std::stol(bits) < 64 || std::stol(bits) > 100000) {
        throw Usage{"--precision is not a whole number from 64 to 100000"};
      }
      options.bits = std::stol(bits);
    } else if (arg.starts_with("-") || !options.run.empty()) {
      throw Usage{arg + " is not an option, or a second folder"};
    } else {
      options.run = arg;
    }
  }
  if (options.run.empty()) {
    throw Usage{"no run folder is named"};
  }
  return options;
}

struct Verdict {
  std::string kind, text, verdict, found;
};

Verdict decide(const Folder& folder, const Json& claim, const std::string& where) {
  if (!claim.is_object() || !claim.contains("kind") || !claim["kind"].is_string() ||
      !claim.contains("text") || !claim["text"].is_string()) {
    throw Unreadable(where + ": has no kind and text");
  }
  Verdict verdict{claim["kind"], claim["text"], "not decided", ""};
  const auto kind = kKinds.find(verdict.kind);
  if (kind == kKinds.end()) {
    verdict.found = verdict.kind.ends_with("_of_file")
                        ? "it is about what a file computes, which is not read here"
                        : "the kind is not known: the claims may be of a newer zeroloss";
    return verdict;
  }
  try {
    verdict.found = kind->second(folder, claim, where);
    verdict.verdict = "holds";
  } catch (const False& found) {
    verdict.verdict = "does not hold";
    verdict.found = found.what();
  } catch (const Open& reason) {
    verdict.found = reason.what();
  } catch (const std::bad_alloc&) {
    verdict.found = "the size: memory does not suffice";
  }
  return verdict;
}

// One line that no terminal takes for anything else: without controls, U+0080 to U+009F among them, and
// without what turns the direction of a text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
std::string printable(const std::string& text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](std::size_t k) {
      return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U;
    };
    const unsigned a = at(0), b = at(1), c = at(2);
    const bool control = a < 32 || a == 127, later = a == 0xc2 && b < 0xa0, mark = a == 0xd8 && b == 0x9c;
    const bool turns = a == 0xe2 && ((b == 0x80 && (c == 0x8e || c == 0x8f || (c >= 0xaa && c <= 0xae))) ||
                                     (b == 0x81 && c >= 0xa6 && c <= 0xa9));
    i += turns ? 2 : later || mark ? 1 : 0;
    line += control || later || mark || turns ? ' ' : text[i];
  }
  return line;
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&seconds))};
}

// RUN/checked.json, whole or not at all, through a file that was not there: a link in a folder of others
// leads nowhere. A folder that nobody may write to is checked all the same.
bool wrote(const std::filesystem::path& run, const Json& checked) {
  const std::filesystem::path part = run / ".checked.json.part";
  unlink(part.c_str());
  const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) {
    return false;
  }
  const std::string text = checked.dump(1) + "\n";
  const bool whole = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(file) == 0 && whole && rename(part.c_str(), (run / "checked.json").c_str()) == 0) {
    return true;
  }
  unlink(part.c_str());
  return false;
}

int run(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  if (options.kinds.empty()) {  // what was found before counts no longer, even where this ends halfway
    std::error_code none;
    std::filesystem::remove(std::filesystem::path(options.run) / "checked.json", none);
  }
  const Folder folder(options.run);
  std::map<std::string, int> count;
  Json list = Json::array();
  int number = 0;
  if (!options.data.empty()) {
    expect_table(folder, options.data);
  }
  for (const Json& claim : folder.claims()) {
    const std::string where = "claim " + std::to_string(number++);
    if (!options.kinds.empty() && claim.is_object() && claim.contains("kind") && claim["kind"].is_string() &&
        std::find(options.kinds.begin(), options.kinds.end(), claim["kind"]) == options.kinds.end()) {
      continue;
    }
    precision = options.bits;
    const Verdict verdict = decide(folder, claim, where);
    ++count[verdict.verdict];
    if (options.json) {
      list.push_back({{"claim", number - 1},
                      {"kind", verdict.kind},
                      {"text", verdict.text},
                      {"verdict", verdict.verdict},
                      {"found", verdict.found}});
    } else if (options.all || verdict.verdict != "holds") {
      std::cout << printable(verdict.verdict + ": " + verdict.text + " [" + verdict.kind + "]") << "\n    "
                << printable(verdict.found) << std::endl;
    }
  }
  const int status = count["does not hold"] > 0 ? 1 : count["not decided"] > 0 ? 4 : 0;
  if (count["holds"] + count["does not hold"] + count["not decided"] == 0) {
    throw Unreadable("claims.json has no claim of this kind");
  }
  if (options.kinds.empty()) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const Json checked = {{"version", ZEROLOSS_CHECK_VERSION},
                          {"flint", FLINT_VERSION},
                          {"finished", now()},
                          {"seconds", taken.count()},
                          {"claims_sha256", folder.digest()},
                          {"holds", count["holds"]},
                          {"does_not_hold", count["does not hold"]},
                          {"not_decided", count["not decided"]}};
    if (!wrote(options.run, checked)) {
      std::cerr << "zeroloss-check: " << options.run << " cannot be written to: without checked.json\n";
    }
  }
  if (options.json) {
    const Json all = {{"run", options.run},
                      {"claims", list},
                      {"holds", count["holds"]},
                      {"does_not_hold", count["does not hold"]},
                      {"not_decided", count["not decided"]}};
    std::cout << all.dump(1, ' ', true, Json::error_handler_t::replace) << std::endl;
  } else {
    const auto many = [&](const char* verdict, const char* one, const char* more) {
      return std::to_string(count[verdict]) + (count[verdict] == 1 ? one : more);
    };
    std::cout << many("holds", " claim holds, ", " claims hold, ")
              << many("does not hold", " does not, ", " do not, ")
              << many("not decided", " is not decided", " are not decided") << std::endl;
  }
  if (!std::cout) {
    throw Unreadable("what was found cannot be written out");
  }
  return status;
}

}  // namespace
}  // namespace check

// Says so, and ends as if nobody had.
extern "C" void interrupted(int signal) {
  constexpr char kText[] = "\nzeroloss-check: interrupted: of what is not shown above nothing is decided\n";
  static_cast<void>(!write(STDERR_FILENO, kText, sizeof kText - 1));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int main(int argc, char** argv) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, interrupted);
  }
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
      std::cout << check::kHelp;
      return 0;
    }
    if (std::strcmp(argv[i], "--version") == 0) {
      std::cout << "zeroloss-check " ZEROLOSS_CHECK_VERSION " with FLINT " FLINT_VERSION "\n";
      return 0;
    }
  }
  try {
    return check::run(check::options_of(argc, argv));
  } catch (const check::Usage& usage) {
    std::cerr << "zeroloss-check: " << usage.message << "; try --help\n";
  } catch (const std::exception& error) {
    std::string message = error.what();  // may quote bytes of a file
    std::replace_if(
        message.begin(), message.end(), [](char c) { return c < 32 || c > 126; }, '?');
    std::cerr << "zeroloss-check: " << message << "\n";
  }
  return 2;
}
