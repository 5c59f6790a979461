#include "processes/task_queue.hpp"

#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

// The first letter of what another process says when it asks for a task.
enum Report : char { kNothing = 'n', kDone = 'd', kDataError = 'D', kArgument = 'A', kFailed = 'F' };

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

void require_threads(const Group& group) {
  if (!group.any_thread())
    throw BackendError(
        "MPI lets only the thread that began it send: begin it by MPI_Init_thread with "
        "MPI_THREAD_SERIALIZED");
}

// Waits for a message without using the processor.
int patient(const Group& group) {
  for (int looked = 0;; ++looked) {
    if (const int from = group.waiting(); from >= 0) return from;
    std::this_thread::sleep_for(std::chrono::microseconds(looked < 50 ? 20 : 200));
  }
}

void take(const std::string& report, const std::function<void(const std::string&)>& done) {
  const std::string text = report.substr(1);
  switch (report.at(0)) {
    case kNothing:
      return;
    case kDone:
      return done(text);
    case kDataError:
      throw DataError(text);
    case kArgument:
      throw std::invalid_argument(text);
    default:
      throw std::runtime_error(text);
  }
}

std::string answer(const std::string& task, const std::function<std::string(const std::string&)>& compute) {
  const auto says = [](char what, const std::string& text) { return std::string(1, what) + text; };
  try {
    return says(kDone, compute(task));
  } catch (const DataError& error) {
    return says(kDataError, error.what());
  } catch (const std::invalid_argument& error) {
    return says(kArgument, error.what());
  } catch (const std::bad_alloc&) {
    return says(kFailed, "out of memory");
  } catch (const std::exception& error) {
    return says(kFailed, error.what());
  }
}

}  // namespace

void run_tasks(const Group& group, const std::function<std::optional<std::string>()>& next,
               const std::function<void(const std::string&)>& done) {
  require_threads(group);
  int listening = 0;  // threads of the others that have not heard that nothing is left
  for (int from = 1; from < group.size(); ++from) {
    int threads = 0;
    group.receive(from, &threads, sizeof threads);
    listening += threads;
  }
  std::exception_ptr failure;
  while (listening > 0) {
    const int from = patient(group);
    std::optional<std::string> task;
    try {
      take(receive_text(group, from), done);
      if (!failure) task = next();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    if (!task) --listening;
    send_text(group, from, task ? "t" + *task : std::string());
  }
  if (failure) std::rethrow_exception(failure);
}

void work_on_tasks(const Group& group, int threads,
                   const std::function<std::string(const std::string&)>& compute) {
  require_threads(group);
  group.send(0, &threads, sizeof threads);
  std::mutex speaking;
  std::exception_ptr failure;
  const auto serve = [&] {
    std::string report(1, kNothing);
    while (true) {
      std::string task;
      {
        const std::scoped_lock lock(speaking);
        send_text(group, 0, report);
        task = receive_text(group, 0);
      }
      if (task.empty()) break;
      report = answer(task.substr(1), compute);
    }
  };
  // A thread that fails is counted as listening by process 0: whoever calls has to end this process.
  const auto work = [&] {
    const int before = threads > 1 ? set_thread_count(1) : thread_count();  // tasks are the threads
    try {
      serve();
    } catch (...) {
      const std::scoped_lock lock(speaking);
      failure = std::current_exception();
    }
    set_thread_count(before);
  };
  {
    std::vector<std::jthread> others;
    for (int k = 1; k < threads; ++k) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace zeroloss::internal
