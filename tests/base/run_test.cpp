#include "zeroloss/base/run.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/temporary.hpp"
#include "support/full_disk.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

namespace fs = std::filesystem;

class Run : public test::TempFolder {
 protected:
  fs::path run = folder / "run", partial = folder / "run.partial";
};

TEST_F(Run, IsPartialUntilItIsFinished) {
  RunFolder work(run);
  EXPECT_EQ(work.path(), run);
  EXPECT_EQ(work.partial(), partial);
  work.write("result.json", "{}");
  EXPECT_TRUE(fs::exists(partial / "result.json"));
  EXPECT_FALSE(fs::exists(run));
  work.finish();
  EXPECT_EQ(content(run / "result.json"), "{}");
  EXPECT_FALSE(fs::exists(partial));
}

TEST_F(Run, CreatesTheFoldersAbove) {
  RunFolder work(folder / "a" / "b" / "run");
  work.finish();
  EXPECT_TRUE(fs::is_directory(folder / "a" / "b" / "run"));
}

TEST_F(Run, RefusesWhatExists) {
  fs::create_directory(run);
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run), run.string(), "exists already");
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(write("file", "x")), "exists already");
}

// Files, links and folders called run.partial that are not of this run, refused or interrupted.
TEST_F(Run, WhatOthersCallPartialStays) {
  const auto removed = RunFolder::Rest::removed;
  const auto one = RunFolder::Writers::one;
  write("run.partial", "of somebody");
  for (const bool there : {false, true}) {
    if (there) fs::create_directory(run);
    EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, false, one, removed),
                   there ? "exists already" : "run.partial is no folder", "choose another `path`");
    EXPECT_EQ(content(partial), "of somebody");
  }
  fs::remove(partial);
  fs::create_symlink("nowhere", partial);
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run), "exists already");
  fs::remove(run);
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run), "run.partial is no folder");
  EXPECT_TRUE(fs::is_symlink(partial));
  // A link to an empty folder on another disk, and an empty folder, are taken over, and stay.
  fs::create_directory(folder / "disk");
  for (const char* target : {"disk", ""}) {
    fs::remove(partial);
    if (*target != '\0')
      fs::create_symlink(target, partial);
    else
      fs::create_directory(partial);
    const bool link = fs::is_symlink(partial);
    { RunFolder(run, false, one, removed).write("result.json", "{}"); }
    EXPECT_EQ(fs::is_symlink(partial), link);
    EXPECT_TRUE(fs::is_empty(partial));
    { const RunFolder work(run); }
    EXPECT_EQ(fs::is_symlink(partial), link);
    EXPECT_TRUE(fs::is_directory(partial));
    fs::create_directory(run);
    EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true), "exists already");
    EXPECT_TRUE(fs::is_directory(partial));
    fs::remove(run);
  }
}

TEST_F(Run, WhatOthersPutIntoItStays) {
  {
    RunFolder work(run, false, RunFolder::Writers::one, RunFolder::Rest::removed);
    work.write("result.json", "{}");
    write_file(work.file("model"), "weights");
    write("run.partial/notes", "of somebody");
  }
  EXPECT_EQ(content(partial / "notes"), "of somebody");
  EXPECT_EQ(std::distance(fs::directory_iterator(partial), {}), 1);
}

TEST_F(Run, AFinishedRunRemovesNothingMore) {
  {
    RunFolder work(run);
    work.finish();
    fs::create_directory(partial);
  }
  EXPECT_TRUE(fs::is_directory(partial)) << "it may be of another run";
}

TEST_F(Run, RefusesTheWorkOfAnother) {
  write("run.partial/checkpoint", "old");
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run), "run.partial holds an unfinished run", "remove it");
  EXPECT_EQ(content(partial / "checkpoint"), "old");
}

TEST_F(Run, WhatCannotBeResumedLeavesNothing) {
  {
    RunFolder work(run, false, RunFolder::Writers::one, RunFolder::Rest::removed);
    work.write("result.json", "{}");
  }
  EXPECT_FALSE(fs::exists(partial));
  {
    RunFolder work(run, false, RunFolder::Writers::one, RunFolder::Rest::removed);
    work.write("result.json", "{}");
    work.finish();
  }
  EXPECT_EQ(content(run / "result.json"), "{}");
  fs::rename(run, partial);  // killed before the end
  EXPECT_MESSAGE(std::invalid_argument,
                 RunFolder(run, false, RunFolder::Writers::one, RunFolder::Rest::removed),
                 "holds an unfinished run; remove it");
  EXPECT_TRUE(fs::exists(partial));
}

TEST_F(Run, RefusesALinkToNowhere) {
  fs::create_symlink("nowhere", run);
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run), "is a link to nowhere");
  EXPECT_FALSE(fs::exists(partial));
}

TEST_F(Run, GoesOnWithAnUnfinishedRun) {
  write("run.partial/checkpoint", "old");
  RunFolder work(run, true);
  EXPECT_EQ(content(partial / "checkpoint"), "old");
  work.remove("checkpoint");
  work.remove("never there");
  work.finish();
  EXPECT_TRUE(fs::is_empty(run));
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true), "exists already");  // it is finished
}

TEST_F(Run, TakesOverAnEmptyPartial) {
  fs::create_directory(partial);
  RunFolder work(run);
  work.finish();
  EXPECT_TRUE(fs::is_directory(run));
}

TEST_F(Run, TrailingSlashNamesTheSameFolder) {
  RunFolder work(run.string() + "/");
  EXPECT_EQ(work.path(), run);
  EXPECT_EQ(work.partial(), partial);
  EXPECT_EQ(RunFolder::partial_of(run.string() + "/"), partial);
}

TEST_F(Run, NeedsAName) { EXPECT_MESSAGE(std::invalid_argument, RunFolder(""), "`path`", "needs a name"); }

TEST_F(Run, LeavesNothingIfNothingWasWritten) {
  { RunFolder work(run); }
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Run, LeavesNothingWhereNoFileCanBeOpened) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  {
    const RunFolder work(run);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Run, LeavesWhatWasWritten) {
  { RunFolder(run).write("checkpoint", "half"); }
  EXPECT_EQ(content(partial / "checkpoint"), "half");
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(Run, FailsWhereItCannotBeCreated) {
  write("file", "x");
  EXPECT_MESSAGE(ResourceError, RunFolder(folder / "file" / "run"), "run.partial", "cannot be created",
                 "Not a directory");
  EXPECT_MESSAGE(ResourceError, RunFolder(folder / std::string(300, 'n')), "cannot be created",
                 "File name too long");
}

TEST_F(Run, FailsWhereNobodyMayWrite) {
  constexpr uid_t kNobody = 65534;
  const bool root = geteuid() == 0;  // who may write anywhere, and is another user here
  if (root) {
    ASSERT_EQ(chown(folder.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  fs::permissions(folder, fs::perms::owner_write, fs::perm_options::remove);
  EXPECT_MESSAGE(ResourceError, RunFolder{run}, "cannot be created", "Permission denied");
  fs::permissions(folder, fs::perms::owner_write, fs::perm_options::add);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

TEST_F(Run, OneProcessWritesIt) {
  RunFolder work(run);
  const std::string writer = "run: process " + std::to_string(getpid()) + " is writing it";
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true), writer);
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run), writer);
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true, RunFolder::Writers::several), writer);
  work.write("result.json", "{}");
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true), writer);
  work.finish();
  EXPECT_EQ(std::distance(fs::directory_iterator(run), {}), 1);
}

TEST_F(Run, TheLockEndsWithItsHolder) {
  const pid_t holder = fork();
  if (holder == 0) {
    RunFolder work(run);
    work.write("checkpoint", "half");
    ::kill(getpid(), SIGKILL);
  }
  waitpid(holder, nullptr, 0);
  RunFolder work(run, true);
  EXPECT_EQ(content(partial / "checkpoint"), "half");
}

TEST_F(Run, SeveralWritersThatAgreeShareIt) {
  RunFolder first(run, true, RunFolder::Writers::several), second(run, true, RunFolder::Writers::several);
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true), "is writing it");
}

TEST_F(Run, WhoComesWhileItIsRenamedSeesTheWholeRun) {
  const auto several = RunFolder::Writers::several;
  fs::create_directory(partial);
  const int last = open(partial.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(last, LOCK_EX), 0);  // as the last writer does while it renames
  std::thread renames([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    fs::rename(partial, run);
    close(last);
  });
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true, several), "run exists already");
  renames.join();
  EXPECT_FALSE(fs::exists(partial));
}

TEST_F(Run, HalvesOfFilesGoWithTheirLastWriter) {
  const auto several = RunFolder::Writers::several;
  fs::create_directory(partial);
  write("run.partial/map.json.x7w2k9.tmp", "half");
  write("run.partial/notes.tmp", "of somebody");
  {
    RunFolder other(run, true, several), first(run, true, several);
    first.finish();
    EXPECT_TRUE(fs::exists(run / "map.json.x7w2k9.tmp")) << "it may be of the other";
  }
  fs::rename(run, partial);
  RunFolder last(run, true, several);
  last.finish();
  EXPECT_EQ(content(run / "notes.tmp"), "of somebody");
  EXPECT_EQ(std::distance(fs::directory_iterator(run), {}), 1);
}

TEST_F(Run, WhatHasFinishedSaysHow) {
  EXPECT_FALSE(finished_run(run));
  fs::create_directory(run);
  EXPECT_FALSE(finished_run(run));
  write("run/result.json", "{\"status\": 3}");
  EXPECT_FALSE(finished_run(run));
  write("run/result.json", R"({"status": "certified", "steps": 12})");
  EXPECT_EQ(finished_run(run)->status, "certified");
  EXPECT_EQ(finished_run(run)->steps, 12);
  EXPECT_EQ(finished_run(run)->result, content(run / "result.json"));
}

TEST_F(Run, AFailedFinishLosesNothing) {
  RunFolder work(run);
  work.write("result.json", "{}");
  write("run/other", "somebody was faster");
  EXPECT_MESSAGE(ResourceError, work.finish(), run.string(), "renaming the finished run");
  EXPECT_EQ(content(partial / "result.json"), "{}");
  EXPECT_EQ(content(run / "other"), "somebody was faster");
}

TEST_F(Run, WriteReplacesAFile) {
  write_file(path("a"), "first version");
  write_file(path("a"), std::string("zero\0byte", 9));
  EXPECT_EQ(content(path("a")), std::string("zero\0byte", 9));
  write_file(path("a"), "");
  EXPECT_EQ(content(path("a")), "");
}

// Threads of a process, processes of one number in two containers: each writes under a name of its own.
TEST_F(Run, WritersOfOneFileDoNotMeet) {
  constexpr int kThreads = 4, kTimes = 100;
  const fs::path mine = path("a." + std::to_string(getpid()) + ".tmp");
  write(mine.filename(), "of a process with our number elsewhere");
  fs::create_symlink("a", path("link"));
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k)
    threads.emplace_back([&, k, text = std::string(20'000, static_cast<char>('a' + k))] {
      try {
        for (int time = 0; time < kTimes; ++time) {
          write_file(path(k % 2 == 0 ? "a" : "link"), text);
          const std::string seen = content(path("a"));
          if (seen.size() != text.size() || seen.find_first_not_of(seen[0]) != std::string::npos) ++failed;
        }
      } catch (const std::exception& error) {
        if (failed++ == 0) ADD_FAILURE() << error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(mine), "of a process with our number elsewhere");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 3);
}

TEST_F(Run, TemporaryNamesAreKnown) {
  const internal::TemporaryFile file = internal::create_temporary(path("a"));
  ASSERT_GE(file.descriptor, 0);
  close(file.descriptor);
  EXPECT_TRUE(internal::is_temporary(file.path));
  for (const char* name : {"a.tmp", ".x7w2k9.tmp", "ax7w2k9.tmp", "a.x7w2k.tmp", "a.X7w2k9.tmp", "a.x7w2k9"})
    EXPECT_FALSE(internal::is_temporary(name)) << name;
}

TEST_F(Run, AFullDiskLeavesTheOldFileAndNoRest) {
  write_file(path("a"), "old");
  {
    const test::FullDisk disk(4096);
    EXPECT_MESSAGE(ResourceError, write_file(path("a"), std::string(100'000, 'x')), path("a"),
                   "writing failed", "File too large");
  }
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(Run, WriteNamesWhatItCannotCreateOrReplace) {
  EXPECT_MESSAGE(ResourceError, write_file(folder / "absent" / "a", "x"), "absent/a", "creating failed",
                 "No such file");
  fs::create_directory(folder / "taken");
  EXPECT_MESSAGE(ResourceError, write_file(folder / "taken", "x"), "taken: is a folder");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(Run, ADeviceStaysADevice) {
  EXPECT_MESSAGE(ResourceError, write_file("/dev/full", "x"), "/dev/full: writing failed", "No space left");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Run, APipeIsWrittenTo) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content(path("pipe")); });
  write_file(path("pipe"), "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(Run, ALinkStaysAndItsFileIsReplaced) {
  write("data/file", "old");
  fs::create_symlink("data/file", path("link"));
  fs::create_symlink(path("link"), path("link to link"));
  write_file(path("link to link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")) && fs::is_symlink(path("link to link")));
  EXPECT_EQ(content(path("data/file")), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("data")), {}), 1);
}

TEST_F(Run, ALinkToNothingMakesItsFile) {
  fs::create_symlink("later", path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("later")), "new");
  fs::create_symlink("loop", path("loop"));
  EXPECT_MESSAGE(ResourceError, write_file(path("loop"), "x"), path("loop"), "Too many levels");
}

TEST_F(Run, AReplacedFileKeepsItsPermissions) {
  write("a", "old");
  fs::permissions(path("a"), fs::perms(0640));
  write_file(path("a"), "new");
  EXPECT_EQ(content(path("a")), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

TEST_F(Run, FilesBesideItAreNoneOfItsBusiness) {
  write("a.tmp", "of somebody");
  write_file(path("a"), "x");
  EXPECT_EQ(content(path("a.tmp")), "of somebody");
}

TEST_F(Run, MachineIsOneJsonObject) {
  const auto machine = nlohmann::json::parse(machine_json());
  for (const char* key : {"processor", "simd", "blas", "blas_kernel", "blas_threading", "compiler"})
    EXPECT_FALSE(machine.at(key).get<std::string>().empty()) << key;
  EXPECT_GE(machine.at("threads").get<int>(), 1);
  EXPECT_GT(machine.at("memory_available_bytes").get<double>(), 0);
}

}  // namespace
}  // namespace zeroloss
