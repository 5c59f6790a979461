#include "finished.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "command.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::app {

std::optional<std::string> say_finished(const std::string& out, bool json) {
  const auto run = finished_run(out);
  if (!run) return {};
  std::string status = run->status;
  std::ranges::replace(status, '_', ' ');
  if (json)
    answer(run->result);
  else
    answer(fmt::format("{} is finished: {} after {} step{}\n", out, status, with_commas(run->steps),
                       run->steps == 1 ? "" : "s"));
  std::fflush(stdout);
  return run->status;
}

}  // namespace zeroloss::app
