#include <fmt/format.h>

#include <stdexcept>

#include "command.hpp"
#include "zeroloss/cluster/cluster.hpp"

// A row for each command, in the order of --help; add_NAME is in a file of its own.
#define ZEROLOSS_COMMANDS(ROW) \
  ROW(certify)                 \
  ROW(width)                   \
  ROW(audit)                   \
  ROW(influence)               \
  ROW(fit)                     \
  ROW(prove)                   \
  ROW(sweep)                   \
  ROW(linear)                  \
  ROW(memorize)                \
  ROW(conv)                    \
  ROW(predict)                 \
  ROW(export)                  \
  ROW(report)                  \
  ROW(check)                   \
  ROW(data)                    \
  ROW(info)                    \
  ROW(completion)              \
  ROW(man)

namespace zeroloss::app {

#define ZEROLOSS_DECLARE(name) void add_##name(Command& command, Session& session);
ZEROLOSS_COMMANDS(ZEROLOSS_DECLARE)
#undef ZEROLOSS_DECLARE

namespace {

bool names_none(const std::string& device) { return device.empty() || device == "none"; }

// Who names a device waits for LibTorch, which nobody else should.
[[noreturn]] void take_device(const Session& session, const char* command) {
  if (session.group.size() > 1)
    throw std::invalid_argument(
        fmt::format("{}: one process uses a device; leave out `device` under mpirun", command));
  become_torch(session.arguments);
}

// This process and those beside it.
std::unique_ptr<Engine> engine_here(Session& session, const std::string& device, Index block) {
  if (names_none(device)) return cluster_engine(session.group, block);
  take_device(session, "certify");
}

std::unique_ptr<DescentEngine> descents_here(Session& session, const std::string& device) {
  if (names_none(device)) return nullptr;
  take_device(session, "sweep");
}

std::unique_ptr<TangentEngine> tangents_here(Session& session, const std::string& device) {
  if (names_none(device)) return nullptr;
  take_device(session, "fit");
}

std::shared_ptr<const GraphEngine> graphs_here(Session& session, const std::string& device) {
  if (names_none(device)) return nullptr;
  take_device(session, "prove");
}

}  // namespace

int run(const std::vector<std::string>& arguments, const std::string& cache, const Group& group) {
#define ZEROLOSS_ENTRY(name) {#name, add_##name},
  return run({"zeroloss",
              "zeroloss: neural networks that reach zero training loss, and the proof that they do",
              {ZEROLOSS_COMMANDS(ZEROLOSS_ENTRY)},
              /*threads=*/true,
              engine_here,
              descents_here,
              tangents_here,
              graphs_here},
             arguments, cache, group);
#undef ZEROLOSS_ENTRY
}

}  // namespace zeroloss::app
