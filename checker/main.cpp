// zeroloss-check: decides the claims of a run folder in ball arithmetic.

#include <algorithm>
#include <cstdio>
#include <cstring>
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
Decides every claim in RUN/claims.json, in ball arithmetic, sharing nothing with zeroloss.

Options:
  -h,--help          Print this help and exit
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
    {"labels", check_labels},
    {"memorised", check_labels},
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
    verdict.found = "the kind is not known";
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

// One line that no terminal takes for anything else.
std::string printable(const std::string& text) {
  std::string line;
  for (const char c : text) {
    line += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  }
  return line;
}

int run(const Options& options) {
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
  if (count.empty() || count["holds"] + count["does not hold"] + count["not decided"] == 0) {
    throw Unreadable("claims.json has no claim of this kind");
  }
  if (options.json) {
    const Json all = {{"run", options.run},
                      {"claims", list},
                      {"holds", count["holds"]},
                      {"does_not_hold", count["does not hold"]},
                      {"not_decided", count["not decided"]}};
    std::cout << all.dump(1, ' ', true, Json::error_handler_t::replace) << std::endl;
  } else {
    std::cout << count["holds"] << " claims hold, " << count["does not hold"] << " do not, "
              << count["not decided"] << " are not decided" << std::endl;
  }
  return status;
}

}  // namespace
}  // namespace check

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
      std::cout << check::kHelp;
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
