#include "sweep/distributed_trials.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/clock.hpp"
#include "base/field_json.hpp"
#include "data/dataset_archive.hpp"
#include "processes/task_queue.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

void put(BinaryArchive& parcel, const Cell& cell) { parcel.put(stored(cell).dump()); }
void get(BinaryArchive& parcel, Cell& cell) { restore(Json::parse(parcel.text()), cell); }

void put(BinaryArchive& parcel, const TrialRow& row) {
  const Trial& trial = row.trial;
  const Certificate& proof = trial.certificate;
  parcel.put(row.job).put(row.seed).put(row.seconds);
  put(parcel, row.cell);
  parcel.put(trial.status).put(trial.steps).put(trial.step).put(trial.relative_misfit);
  parcel.put(proof.kind).put(proof.holds).put(proof.radius).put(proof.margin);  // what a store keeps of it
}

TrialRow row_of(BinaryArchive& parcel) {
  TrialRow row;
  row.job = parcel.get<Job>();
  row.seed = parcel.get<std::uint64_t>();
  row.seconds = parcel.get<double>();
  get(parcel, row.cell);
  Trial& trial = row.trial;
  trial.status = parcel.get<Status>();
  trial.steps = parcel.get<Index>();
  trial.step = parcel.get<double>();
  trial.relative_misfit = parcel.get<double>();
  parcel.get(trial.certificate.kind);
  trial.certificate.holds = parcel.get<bool>();
  trial.certificate.radius = parcel.get<double>();
  trial.certificate.margin = parcel.get<double>();
  return row;
}

std::string bytes_of(const TrialTask& task) {
  BinaryArchive parcel;
  put(parcel, task.row);
  put(parcel, task.data);
  parcel.put(stored(task.fit).dump()).put(task.fit.start.source).put(task.certify);
  return parcel.bytes();
}

TrialTask task_of(std::string bytes) {
  BinaryArchive parcel(std::move(bytes));
  TrialTask task;
  task.row = row_of(parcel);
  task.data = dataset_of(parcel);
  restore(Json::parse(parcel.text()), task.fit);
  parcel.get(task.fit.start.source);
  task.certify = parcel.get<bool>();
  return task;
}

}  // namespace

std::string in_words(const char* error, const TrialRow& row) {
  return fmt::format("{} (trial {} of a cell with n = {}, d = {}, width = {}; seed {})", error, row.job.trial,
                     row.cell.n, row.cell.d, row.cell.width, row.seed);
}

TrialRow compute(TrialTask task, Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  TrialRow row = std::move(task.row);
  try {
    row.trial = train_trial(task.data, task.fit, task.certify, progress);
  } catch (const DataError& error) {
    throw DataError(in_words(error.what(), row));
  }
  row.cell.n = task.data.n();
  row.cell.d = task.data.d();
  row.seconds += seconds_since(began);
  return row;
}

void deal_trials(const Group& group, const std::function<std::optional<TrialTask>()>& next,
                 const std::function<void(const TrialRow&)>& done) {
  run_tasks(
      group,
      [&]() -> std::optional<std::string> {
        const std::optional<TrialTask> task = next();
        return task ? std::optional(bytes_of(*task)) : std::nullopt;
      },
      [&](const std::string& bytes) {
        BinaryArchive parcel(bytes);
        done(row_of(parcel));
      });
}

void serve_trials(const Group& group) {
  const SerialBlas serial;  // trials are the threads
  work_on_tasks(group, thread_count(), [](const std::string& bytes) {
    Progress silent;
    BinaryArchive parcel;
    put(parcel, compute(task_of(bytes), silent));
    return parcel.bytes();
  });
}

}  // namespace zeroloss::internal
