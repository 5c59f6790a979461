#include "zeroloss/base/progress.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

struct Recorder {
  std::vector<ProgressReport> reports;
  Progress::Sink sink() {
    return [this](const ProgressReport& report) { reports.push_back(report); };
  }
};

TEST(Progress, ADefaultOneIsSilentAndNeverCancels) {
  Progress progress;
  progress.stage("work", 10);
  EXPECT_NO_THROW(progress.advance(3));
  EXPECT_NO_THROW(progress.check());
  EXPECT_FALSE(progress.cancelled());
  progress.finish();
}

TEST(Progress, ReportsEachAdvanceWithoutAnInterval) {
  Recorder recorder;
  Progress progress(recorder.sink(), nullptr, 0);
  progress.stage("kernel", 4);
  progress.advance(1);
  progress.advance(2);
  ASSERT_EQ(recorder.reports.size(), 2u);
  EXPECT_EQ(recorder.reports[0].stage, "kernel");
  EXPECT_EQ(recorder.reports[0].done, 1);
  EXPECT_EQ(recorder.reports[1].done, 3);
  EXPECT_EQ(recorder.reports[1].total, 4);
  EXPECT_FALSE(recorder.reports[1].finished);
}

TEST(Progress, KeepsQuietWithinTheIntervalButNotAtTheEnd) {
  Recorder recorder;
  Progress progress(recorder.sink(), nullptr, 1e6);
  progress.stage("kernel", 100);
  for (int i = 0; i < 100; ++i) progress.advance(1);
  EXPECT_TRUE(recorder.reports.empty());
  progress.finish();
  ASSERT_EQ(recorder.reports.size(), 1u);
  EXPECT_TRUE(recorder.reports[0].finished);
  EXPECT_EQ(recorder.reports[0].done, 100);
}

TEST(Progress, RateAndTimeLeftFollowFromTheTimeElapsed) {
  Recorder recorder;
  Progress progress(recorder.sink(), nullptr, 0);
  progress.stage("kernel", 8);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  progress.advance(2);
  const auto& report = recorder.reports.at(0);
  EXPECT_GE(report.elapsed_s, 0.002);
  EXPECT_DOUBLE_EQ(report.rate, 2 / report.elapsed_s);
  EXPECT_DOUBLE_EQ(report.left_s, 3 * report.elapsed_s);
}

TEST(Progress, TimeLeftIsUnknownWithoutATotalAndNeverNegative) {
  Recorder recorder;
  Progress progress(recorder.sink(), nullptr, 0);
  progress.stage("lines");
  progress.advance(5);
  EXPECT_EQ(recorder.reports.back().total, 0);
  EXPECT_EQ(recorder.reports.back().left_s, -1);
  progress.stage("bytes", 1);
  progress.advance(5);
  EXPECT_EQ(recorder.reports.back().left_s, 0);
}

TEST(Progress, AStageEndsTheOneBefore) {
  Recorder recorder;
  Progress progress(recorder.sink(), nullptr, 0);
  progress.stage("first", 2);
  progress.advance(2);
  progress.stage("second");
  ASSERT_EQ(recorder.reports.size(), 2u);
  EXPECT_EQ(recorder.reports[1].stage, "first");
  EXPECT_TRUE(recorder.reports[1].finished);
  EXPECT_EQ(recorder.reports[1].left_s, 0);
  progress.advance(1);
  EXPECT_EQ(recorder.reports[2].stage, "second");
  EXPECT_EQ(recorder.reports[2].done, 1);
}

TEST(Progress, FinishEndsTheLastStageOnce) {
  Recorder recorder;
  Progress progress(recorder.sink(), nullptr, 0);
  progress.finish();
  EXPECT_TRUE(recorder.reports.empty());
  progress.stage("only");
  progress.finish();
  progress.finish();
  EXPECT_EQ(recorder.reports.size(), 1u);
}

TEST(Progress, ThrowsInterruptedOnceCancelled) {
  std::atomic<bool> cancel{false};
  Progress progress({}, &cancel);
  progress.stage("work", 2);
  EXPECT_NO_THROW(progress.advance(1));
  std::thread([&] { cancel = true; }).join();
  EXPECT_TRUE(progress.cancelled());
  EXPECT_THROW(progress.advance(1), Interrupted);
  EXPECT_THROW(progress.check(), Interrupted);
  EXPECT_THROW(progress.stage("next"), Interrupted);
  EXPECT_NO_THROW(progress.finish());
}

TEST(Progress, CallsTheSinkFromTheThreadThatWorks) {
  std::thread::id caller;
  Progress progress([&](const ProgressReport&) { caller = std::this_thread::get_id(); }, nullptr, 0);
  progress.stage("work");
  progress.advance(1);
  EXPECT_EQ(caller, std::this_thread::get_id());
}

}  // namespace
}  // namespace zeroloss
