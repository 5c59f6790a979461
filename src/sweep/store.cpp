#include "sweep/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "base/ascii.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

constexpr const char* kSchema = R"(
  CREATE TABLE sweep(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE trials(
    cell INTEGER, trial INTEGER, n INTEGER, d INTEGER, width INTEGER, activation TEXT, scaling TEXT, step REAL,
    noise REAL, tolerance REAL, depth INTEGER, seed INTEGER, steps INTEGER, relative_misfit REAL, status TEXT, success INTEGER,
    certificate TEXT, radius REAL, margin REAL, digest TEXT, seconds REAL, PRIMARY KEY(cell, trial)) WITHOUT ROWID;
  CREATE TABLE workers(
    worker INTEGER PRIMARY KEY AUTOINCREMENT, boot TEXT, pid INTEGER, started TEXT, heartbeat REAL, closing INTEGER);
  CREATE TABLE claims(cell INTEGER, trial INTEGER, worker INTEGER, PRIMARY KEY(cell, trial)) WITHOUT ROWID;)";

constexpr std::int64_t kApplication = 0x7a6c7377;  // "zlsw"
constexpr std::int64_t kFormat = 1;                // of rows that have a digest
constexpr double kStale_s = 60;
constexpr auto kBeat = std::chrono::seconds(10);

std::string word(const std::string& text) { return text; }
std::string word(std::int64_t number) { return fmt::to_string(number); }
// As the database gives it back: it knows neither kinds of NaN nor the sign of zero.
std::string word(double number) {
  return std::isnan(number) ? "nan" : fmt::format("{:x}", std::bit_cast<std::uint64_t>(number + 0.0));
}

// Of what a trial found: a bit that changes on the disk would change the answer.
template <class... Values>
std::string digest_of(const Values&... values) {
  constexpr std::size_t kDigits = 16;
  std::string all;
  ((all += word(values) + '\n'), ...);
  return sha256(all).substr(0, kDigits);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// Tells this start of the machine from others, and containers on it that number their processes themselves.
std::string boot_id() {
  std::error_code error;
  const auto numbers = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return first_line("/proc/sys/kernel/random/boot_id") + " " + numbers.string();
}

// When a process began, in ticks since boot; empty if there is none of this number, or only its remains.
std::string process_start(std::int64_t pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid).c_str());
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return "";
  const auto fields = words_of(std::string_view(line).substr(name_end + 1));  // from the third on: state
  constexpr std::size_t kStart = 19;                                          // field 22
  if (fields.size() <= kStart || fields[0] == "Z" || fields[0] == "X") return "";
  return std::string(fields[kStart]);
}

Status status_of(const std::string& text) {
  for (const Status s :
       {Status::certified, Status::converged, Status::budget_spent, Status::stalled, Status::diverged})
    if (text == name(s)) return s;
  throw DataError(fmt::format("the store holds the status \"{}\", which is none", excerpt(text)));
}

}  // namespace

Store::Store(const std::filesystem::path& path, const Identity& identity)
    : Store(path, identity, journal_for(path)) {}

Store::Store(const std::filesystem::path& path, const Identity& identity, Journal journal)
    : path_(path), database_(path, journal) {
  const bool fresh = database_.transaction([&] {
    auto id = database_.prepare("PRAGMA application_id");
    auto tables = database_.prepare("SELECT count(*) FROM sqlite_master");
    id.run();
    tables.run();
    if (id.integer(0) == kApplication) return false;
    if (tables.integer(0) > 0)
      throw DataError(
          fmt::format("{}: is a database, but not of a sweep; choose another `store`", path.string()));
    id.next();
    tables.next();
    database_.execute(fmt::format("{}; PRAGMA application_id = {}; PRAGMA user_version = {}", kSchema,
                                  kApplication, kFormat));
    auto put = database_.prepare("INSERT INTO sweep VALUES(?, ?)");
    for (const auto& [key, value] : identity) put.run(key, value);
    return true;
  });
  if (!fresh) {
    check_whole();
    check_identity(identity);
  }
  enter();
  heart_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
}

Store::~Store() {
  heart_.request_stop();
  waker_.notify_all();
  if (closing_) return;
  try {
    const std::scoped_lock lock(mutex_);
    database_.transaction([&] {
      database_.prepare("DELETE FROM claims WHERE worker = ?").run(worker_);
      database_.prepare("DELETE FROM workers WHERE worker = ?").run(worker_);
    });
  } catch (const std::exception&) {
    // Others see that we are gone.
  }
}

// Its version; what is missing or torn in pages that no query of ours would meet; the tables.
void Store::check_whole() {
  auto format = database_.prepare("PRAGMA user_version");
  format.run();
  if (format.integer(0) != kFormat)
    throw DataError(
        fmt::format("{}: a store of another version of zeroloss; choose another `store`", path_.string()));
  const auto refuse = [&](const std::string& fault) {
    return DataError(
        fmt::format("{}: damaged: {}; remove it to begin anew", path_.string(), printable(fault)));
  };
  auto check = database_.prepare("PRAGMA quick_check(1)");
  check.run();
  if (const std::string fault = check.text(0); fault != "ok") throw refuse(fault);
  auto tables = database_.prepare("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'");
  for (bool more = tables.run(); more; more = tables.next())
    if (std::string_view(kSchema).find(tables.text(0)) == std::string_view::npos)
      throw refuse("its tables are not those of a sweep");
}

void Store::check_identity(const Identity& identity) {
  auto find = database_.prepare("SELECT value FROM sweep WHERE key = ?");
  for (const auto& [key, value] : identity) {
    if (!find.run(key)) throw DataError(fmt::format("{}: does not say its {}", path_.string(), key));
    if (const std::string stored = find.text(0); stored != value)
      throw std::invalid_argument(
          fmt::format("{} holds another sweep: its {} is {}, not {}; go on with the same options or choose "
                      "another `store`",
                      path_.string(), key, printable(stored), value));
  }
}

void Store::enter() {
  const std::string boot = boot_id(), started = process_start(getpid());
  database_.transaction([&] {
    // What this process itself has closed before is as good as new.
    database_.prepare("DELETE FROM workers WHERE closing = 1 AND boot = ? AND pid = ? AND started = ?")
        .run(boot, getpid(), started);
    auto add = database_.prepare(
        "INSERT INTO workers(boot, pid, started, heartbeat, closing) VALUES(?, ?, ?, ?, 0)");
    add.run(boot, getpid(), started, now_s());
    auto last = database_.prepare("SELECT last_insert_rowid()");
    last.run();
    worker_ = last.integer(0);
  });
}

// Inside a transaction.
void Store::remove_the_dead() {
  std::vector<std::int64_t> dead;
  auto all = database_.prepare("SELECT worker, boot, pid, started, heartbeat FROM workers WHERE worker <> ?");
  const std::string boot = boot_id();
  for (bool more = all.run(worker_); more; more = all.next()) {
    const bool here = all.text(1) == boot;
    const double age_s = now_s() - all.number(4);
    // From the future: of a clock that was set back since, maybe by the power cut that ended the process.
    const bool silent = age_s > kStale_s || (!here && age_s < -kStale_s);
    if (silent || (here && process_start(all.integer(2)) != all.text(3))) dead.push_back(all.integer(0));
  }
  auto claims = database_.prepare("DELETE FROM claims WHERE worker = ?");
  auto worker = database_.prepare("DELETE FROM workers WHERE worker = ?");
  for (const std::int64_t id : dead) {
    claims.run(id);
    worker.run(id);
  }
  // One that was taken for dead may have come back and claimed again.
  database_.execute("DELETE FROM claims WHERE worker NOT IN (SELECT worker FROM workers)");
}

void Store::beat(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!waker_.wait_for(lock, stop, kBeat, [&] { return stop.stop_requested(); })) {
    try {
      database_.prepare("UPDATE workers SET heartbeat = ? WHERE worker = ?").run(now_s(), worker_);
    } catch (const std::exception&) {
      // A full disk shows where results are written; without heartbeats others take our claims over, no more.
    }
  }
}

std::vector<TrialRow> Store::rows() {
  const std::scoped_lock lock(mutex_);
  std::vector<TrialRow> all;
  auto each = database_.prepare(
      "SELECT cell, trial, n, d, steps, relative_misfit, status, width, activation, scaling, step, noise, "
      "tolerance, depth, seed, success, certificate, radius, margin, digest FROM trials ORDER BY cell, "
      "trial");
  for (bool more = each.run(); more; more = each.next()) {
    TrialRow row;
    row.job = {each.integer(0), each.integer(1)};
    row.cell.n = each.integer(2);
    row.cell.d = each.integer(3);
    row.trial.steps = each.integer(4);
    row.trial.relative_misfit = each.number(5);
    const std::string status = each.text(6);
    if (digest_of(row.job.cell, row.job.trial, row.cell.n, row.cell.d, row.trial.steps,
                  row.trial.relative_misfit, status, each.integer(7), each.text(8), each.text(9),
                  each.number(10), each.number(11), each.number(12), each.integer(13), each.integer(14),
                  each.integer(15), each.text(16), each.number(17), each.number(18)) != each.text(19))
      throw DataError(
          fmt::format("{}: damaged: trial {} of cell {} is not as it was written; remove that row, or the "
                      "store, to compute it anew",
                      path_.string(), row.job.trial, row.job.cell));
    row.trial.status = status_of(status);
    all.push_back(std::move(row));
  }
  return all;
}

std::vector<Job> Store::claim(const std::vector<Job>& jobs) {
  const std::scoped_lock lock(mutex_);
  return database_.transaction([&] {
    remove_the_dead();
    auto take = database_.prepare(
        "INSERT INTO claims SELECT ?1, ?2, ?3 "
        "WHERE NOT EXISTS (SELECT 1 FROM trials WHERE cell = ?1 AND trial = ?2) "
        "ON CONFLICT DO NOTHING");
    std::vector<Job> ours;
    for (const Job& job : jobs) {
      take.run(job.cell, job.trial, worker_);
      if (database_.changes() > 0) ours.push_back(job);
    }
    return ours;
  });
}

void Store::save(const TrialRow& row) {
  const std::scoped_lock lock(mutex_);
  const Cell& cell = row.cell;
  const Trial& trial = row.trial;
  const Certificate& proof = trial.certificate;
  const auto seed = static_cast<std::int64_t>(row.seed);
  const auto success = static_cast<std::int64_t>(succeeded(trial.status));
  const std::string digest =
      digest_of(row.job.cell, row.job.trial, cell.n, cell.d, trial.steps, trial.relative_misfit,
                name(trial.status), cell.width, cell.activation, cell.scaling, trial.step, cell.noise,
                cell.tolerance, cell.depth, seed, success, proof.kind, proof.radius, proof.margin);
  database_.transaction([&] {
    database_.prepare("INSERT OR IGNORE INTO trials VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        .run(row.job.cell, row.job.trial, cell.n, cell.d, cell.width, cell.activation, cell.scaling,
             trial.step, cell.noise, cell.tolerance, cell.depth, seed, trial.steps, trial.relative_misfit,
             name(trial.status), success, proof.kind, proof.radius, proof.margin, digest, row.seconds);
    database_.prepare("DELETE FROM claims WHERE cell = ? AND trial = ?").run(row.job.cell, row.job.trial);
  });
}

bool Store::close() {
  const std::scoped_lock lock(mutex_);
  closing_ = database_.transaction([&] {
    remove_the_dead();
    database_
        .prepare(
            "UPDATE workers SET closing = 1 WHERE worker = ?1 AND NOT EXISTS "
            "(SELECT 1 FROM workers WHERE worker <> ?1)")
        .run(worker_);
    if (database_.changes() > 0) return true;
    // Leave now: if two both saw the other here and left later, nobody would close.
    database_.prepare("DELETE FROM workers WHERE worker = ?").run(worker_);
    return false;
  });
  if (closing_ && !path_.empty()) {
    try {
      database_.execute("PRAGMA journal_mode = DELETE");  // one file
    } catch (const ResourceError&) {
      // A process that has just left may still have it open; the database is as good with its log beside it.
    }
  }
  return closing_;
}

bool Store::being_closed() {
  const std::scoped_lock lock(mutex_);
  return database_.transaction([&] {
    remove_the_dead();
    auto closing = database_.prepare("SELECT 1 FROM workers WHERE closing = 1 AND worker <> ?");
    const bool found = closing.run(worker_);
    if (found) closing.next();
    return found;
  });
}

}  // namespace zeroloss::internal
