#include "sweep/deal.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "core/field_json.hpp"
#include "core/parcel.hpp"
#include "zeroloss/core/blas.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/threads.hpp"

namespace zeroloss::internal {
namespace {

// From another process: it wants a trial, and may have done one before, or failed at it.
enum class Report : char { nothing, done, data_error, failed };

void put(Parcel& parcel, const Cell& cell) { parcel.put(stored(cell).dump()); }
void get(Parcel& parcel, Cell& cell) { restore(Json::parse(parcel.text()), cell); }

void put(Parcel& parcel, const TrialRow& row) {
  const Trial& trial = row.trial;
  const Certificate& proof = trial.certificate;
  parcel.put(row.job).put(row.seed).put(row.seconds);
  put(parcel, row.cell);
  parcel.put(trial.status).put(trial.steps).put(trial.step).put(trial.relative_misfit);
  parcel.put(proof.kind).put(proof.holds).put(proof.radius).put(proof.margin);  // what a store keeps of it
}

TrialRow row_of(Parcel& parcel) {
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
  Parcel parcel;
  put(parcel, task.row);
  const Dataset& data = task.data;
  const Standardization& s = data.standardization;
  parcel.put(data.X).put(data.y).put(data.task).put(data.class_names).put(data.records).put(data.name);
  parcel.put(s.scale)
      .put(s.origin.high)
      .put(s.origin.low)
      .put(s.bias)
      .put(s.how)
      .put(s.lengths)
      .put(s.automatic);
  parcel.put(stored(task.fit).dump()).put(task.fit.start.source).put(task.certify);
  return parcel.bytes();
}

TrialTask task_of(std::string bytes) {
  Parcel parcel(std::move(bytes));
  TrialTask task;
  task.row = row_of(parcel);
  Dataset& data = task.data;
  Standardization& s = data.standardization;
  parcel.get(data.X);
  parcel.get(data.y);
  data.task = parcel.get<Task>();
  parcel.get(data.class_names);
  parcel.get(data.records);
  parcel.get(data.name);
  parcel.get(s.scale);
  parcel.get(s.origin.high);
  parcel.get(s.origin.low);
  s.bias = parcel.get<double>();
  parcel.get(s.how);
  s.lengths = parcel.get<double>();
  s.automatic = parcel.get<bool>();
  restore(Json::parse(parcel.text()), task.fit);
  parcel.get(task.fit.start.source);
  task.certify = parcel.get<bool>();
  return task;
}

void send_text(const Group& group, int to, const std::string& text) {
  const std::uint64_t size = text.size();
  group.send(to, &size, sizeof size);
  group.send(to, text.data(), text.size());
}

std::string receive_text(const Group& group, int from) {
  std::uint64_t size = 0;
  group.receive(from, &size, sizeof size);
  std::string text(size, '\0');
  group.receive(from, text.data(), size);
  return text;
}

// Waits for a message without using the processor.
int patient(const Group& group) {
  for (int looked = 0;; ++looked) {
    if (const int from = group.waiting(); from >= 0) return from;
    std::this_thread::sleep_for(std::chrono::microseconds(looked < 50 ? 20 : 200));
  }
}

}  // namespace

bool can_be_dealt(const FitOptions& options) { return options.start.drawn() && options.test.data == nullptr; }

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
  row.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return row;
}

void deal(const Group& group, const std::function<std::optional<TrialTask>()>& next,
          const std::function<void(const TrialRow&)>& done) {
  int listening = 0;  // threads of the others that have not heard that nothing is left
  for (int from = 1; from < group.size(); ++from) {
    int threads = 0;
    group.receive(from, &threads, sizeof threads);
    listening += threads;
  }
  std::exception_ptr failure;
  const auto guarded = [&](const auto& work) {
    try {
      work();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  while (listening > 0) {
    const int from = patient(group);
    Parcel report(receive_text(group, from));
    switch (report.get<Report>()) {
      case Report::nothing:
        break;
      case Report::done:
        guarded([&] { done(row_of(report)); });
        break;
      case Report::data_error:
        guarded([&] { throw DataError(report.text()); });
        break;
      case Report::failed:
        guarded([&] { throw std::runtime_error(report.text()); });
        break;
    }
    std::optional<TrialTask> task;
    if (!failure) guarded([&] { task = next(); });
    if (!task) --listening;
    send_text(group, from, task ? bytes_of(*task) : std::string());
  }
  if (failure) std::rethrow_exception(failure);
}

void serve_trials(const Group& group) {
  const SerialBlas serial;  // trials are the threads
  const int threads = thread_count();
  group.send(0, &threads, sizeof threads);
  std::mutex speaking;
#pragma omp parallel num_threads(threads)
  {
    Progress silent;
    std::string report(1, static_cast<char>(Report::nothing));
    while (true) {
      std::string bytes;
      {
        const std::scoped_lock lock(speaking);
        send_text(group, 0, report);
        bytes = receive_text(group, 0);
      }
      if (bytes.empty()) break;
      Parcel answer;
      try {
        TrialTask task = task_of(std::move(bytes));
        const TrialRow row = compute(std::move(task), silent);
        answer.put(Report::done);
        put(answer, row);
      } catch (const DataError& error) {
        answer = Parcel();
        answer.put(Report::data_error).put(std::string_view(error.what()));
      } catch (const std::exception& error) {
        answer = Parcel();
        answer.put(Report::failed).put(std::string_view(error.what()));
      }
      report = answer.bytes();
    }
  }
}

}  // namespace zeroloss::internal
