#include "zeroloss/core/run.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/full_disk.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/core/error.hpp"

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

TEST_F(Run, LeavesNoEmptyPartialBesideAFinishedOne) {
  fs::create_directory(run);
  fs::create_directory(partial);
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true), "exists already");
  EXPECT_FALSE(fs::exists(partial));
  write("run.partial/checkpoint", "of somebody");
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run, true), "exists already");
  EXPECT_EQ(content(partial / "checkpoint"), "of somebody");
}

TEST_F(Run, RefusesTheWorkOfAnother) {
  write("run.partial/checkpoint", "old");
  EXPECT_MESSAGE(std::invalid_argument, RunFolder(run), "run.partial holds an unfinished run", "remove it");
  EXPECT_EQ(content(partial / "checkpoint"), "old");
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
}

TEST_F(Run, NeedsAName) { EXPECT_MESSAGE(std::invalid_argument, RunFolder(""), "`path`", "needs a name"); }

TEST_F(Run, LeavesNothingIfNothingWasWritten) {
  { RunFolder work(run); }
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
  if (geteuid() == 0) return;  // root may write anywhere
  fs::permissions(folder, fs::perms::owner_write, fs::perm_options::remove);
  EXPECT_MESSAGE(ResourceError, RunFolder{run}, "cannot be created", "Permission denied");
  fs::permissions(folder, fs::perms::owner_write, fs::perm_options::add);
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
  EXPECT_MESSAGE(ResourceError, write_file(folder / "taken", "x"), "taken", "renaming failed");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
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
