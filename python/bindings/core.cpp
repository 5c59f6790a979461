#include <fmt/format.h>
#include <omp.h>

#include <cfenv>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "bindings.hpp"
#include "command.hpp"
#include "group.hpp"
#include "zeroloss/base/advice.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/processes/process_group.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::python {
namespace {

/// What the thread that works tells the one that waits.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable news;
  std::vector<ProgressReport> reports;
  bool done = false;
};

/// Once: the command would have started again with better kernels, which a package cannot do.
void warn_of_slow_blas() {
  static bool told = false;
  if (std::exchange(told, true)) return;
  const BlasInfo blas = blas_info();
  if (!blas.better_kernel.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, blas.warning.c_str(), 2) != 0)
    throw nb::python_error();
}

/// A value of an option, as one writes it in Python.
std::string in_python(const std::string& name, const std::string& value) {
  static const std::set<std::string> lists{"class_names", "classes", "drop", "na_values", "one_hot"};
  const auto word = [](std::string_view text) {
    return text == ".." || parsed_number(text) ? std::string(text) : "'" + std::string(text) + "'";
  };
  if (value.empty()) return value;
  if (!lists.contains(name)) return word(value);
  if (const auto last = value.starts_with("0..") ? parsed_integer<Index>(value.substr(3)) : std::nullopt)
    return fmt::format("range({})", *last + 1);
  std::string list;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    list += (list.empty() ? "" : ", ") + word(std::string_view(value).substr(begin, end - begin));
    begin = end + 1;
  }
  return "[" + list + "]";
}

/// What a message of the library advises, as one writes it in Python: `max_steps=9` becomes max_steps=9.
std::string in_keywords(const std::string& message) {
  return advised(message, [](const Advice& advice) {
    if (advice.call) {
      const std::string command = app::command_of(advice);
      return command.starts_with('`') ? command : "python -m " + command;
    }
    if (advice.name == "map") return std::string("an array R");
    return advice.name + "=" + in_python(advice.name, advice.value);
  });
}

/// The library's exceptions as Python's. Others are nanobind's business.
void translate(const std::exception_ptr& failure, void* types) {
  const auto* type = static_cast<const nb::object*>(types);
  const auto say = [](nb::handle kind, const std::exception& error) {
    PyErr_SetString(kind.ptr(), in_keywords(error.what()).c_str());
  };
  try {
    std::rethrow_exception(failure);
  } catch (const DataError& error) {
    say(type[0], error);
  } catch (const BackendError& error) {
    say(type[1], error);
  } catch (const ResourceError& error) {
    say(type[2], error);
  } catch (const std::invalid_argument& error) {
    say(PyExc_ValueError, error);
  }
}

}  // namespace

// A thread of its own also means OpenMP threads of its own: a process that forks later (multiprocessing) does
// not inherit a pool whose threads are gone. How many is a matter of the thread that called: OpenMP keeps
// that (and what threadpoolctl limits) for each thread.
void work(const nb::object& show, const std::function<void(Progress&)>& task) {
  constexpr std::chrono::milliseconds kPatience{50};  // between two looks at signals
  warn_of_slow_blas();
  Mailbox box;
  std::atomic<bool> cancel{false};
  Progress::Sink sink;
  if (!show.is_none())
    sink = [&box](const ProgressReport& report) {
      const std::lock_guard lock(box.mutex);
      box.reports.push_back(report);
    };
  std::exception_ptr failure;
  std::thread worker([&, threads = omp_get_max_threads()] {
    omp_set_num_threads(threads);
    std::fesetenv(FE_DFL_ENV);  // the caller's thread may flush subnormal numbers, or round in another way
    try {
      Progress progress(sink, &cancel);
      task(progress);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(box.mutex);
    box.done = true;
    box.news.notify_one();
  });

  std::optional<nb::python_error> raised;
  for (bool done = false; !done;) {
    std::vector<ProgressReport> reports;
    {
      const nb::gil_scoped_release release;
      std::unique_lock lock(box.mutex);
      box.news.wait_for(lock, kPatience, [&] { return box.done; });
      done = box.done;
      reports.swap(box.reports);
    }
    if (raised) continue;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      for (const ProgressReport& report : reports) show(report);
    } catch (nb::python_error& error) {
      raised.emplace(error);
      cancel.store(true, std::memory_order_relaxed);
    }
  }
  worker.join();
  if (raised) throw nb::python_error(*raised);
  if (failure) std::rethrow_exception(failure);
}

std::string html_of(const std::string& conclusion, const std::string& text) {
  const auto escaped = [](const std::string& raw) {
    std::string out;
    for (const char c : raw)
      out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
  };
  return "<div><p><b>" + escaped(conclusion) + "</b></p><details><summary>all of the answer</summary><pre>" +
         escaped(text) + "</pre></details></div>";
}

void bind_core(nb::module_& m) {
  // Never destroyed: exceptions may be raised until the interpreter is gone.
  static auto* types =
      new nb::object[3]{nb::exception<DataError>(m, "DataError", PyExc_ValueError),
                        nb::exception<BackendError>(m, "BackendError", PyExc_RuntimeError),
                        nb::exception<ResourceError>(m, "ResourceError", PyExc_RuntimeError)};
  nb::register_exception_translator(translate, types);
  m.attr("version") = ZEROLOSS_VERSION;

  nb::class_<ProgressReport>(m, "ProgressReport", "A stage of long work, how far it is, and the time left.")
      .def_ro("stage", &ProgressReport::stage, "\"kernel\", \"Cholesky factorisation\", ..")
      .def_ro("done", &ProgressReport::done, "In units of the stage, 0..total.")
      .def_ro("total", &ProgressReport::total, "0 if not known.")
      .def_ro("elapsed_s", &ProgressReport::elapsed_s, "Seconds since the stage began.")
      .def_ro("rate", &ProgressReport::rate, "Done per second.")
      .def_ro("left_s", &ProgressReport::left_s, "Estimated seconds left in the stage; -1 if not known.")
      .def_ro("finished", &ProgressReport::finished, "The stage has ended.");

  nb::class_<BlasInfo>(m, "BlasInfo", "Which BLAS and LAPACK this process runs.")
      .def_ro("library", &BlasInfo::library, "\"OpenBLAS 0.3.21 ..\", or \"unknown\".")
      .def_ro("kernel", &BlasInfo::kernel, "\"SkylakeX\", \"Haswell\", ..; \"unknown\".")
      .def_ro("threading", &BlasInfo::threading, "serial | pthreads | OpenMP | unknown.")
      .def_ro("warning", &BlasInfo::warning,
              "Empty, or why products run slower than this processor allows, and what to do.")
      .def_ro("better_kernel", &BlasInfo::better_kernel, "Then what OPENBLAS_CORETYPE should name.")
      .def("__repr__", [](const BlasInfo& b) {
        return "BlasInfo(library='" + b.library + "', kernel='" + b.kernel + "', threading='" + b.threading +
               "')";
      });
  m.def("blas_info", &blas_info, "Which BLAS and LAPACK this process runs.");
  nb::class_<Group>(m, "Group", "The processes that work on one problem: this one alone by default.")
      .def(nb::init<>())
      .def_static(
          "of", [](std::uintptr_t handle) { return Group::of(reinterpret_cast<const void*>(handle)); },
          "handle"_a, "Those of an MPI communicator, by the address of its handle.")
      .def_prop_ro("rank", &Group::rank)
      .def_prop_ro("size", &Group::size)
      .def("dismiss", &Group::dismiss, "code"_a, "Process 0: the others leave serve().")
      .def(
          "serve",
          [](const Group& group) {
            const nb::gil_scoped_release release;
            return serve(group, app::all_services());
          },
          "The others: do what process 0 asks for until it dismisses them.");
  m.def("thread_count", &thread_count,
        "What parallel loops that this thread begins may use: OpenMP's maximum.");
  m.def("set_thread_count", &set_thread_count, "count"_a,
        "From now on, for what this thread begins; returns what it was. ValueError for a count below 1.");
  m.def("simd_target", &simd_target, "Vector instructions in use: \"AVX3_SPR\", \"AVX2\", ..");
  m.def(
      "run",
      [](const std::vector<std::string>& arguments, const std::string& cache) {
        const nb::gil_scoped_release release;
        return app::run_in_group(arguments, cache);
      },
      "arguments"_a, "cache"_a,
      "The command: its name and its arguments. Prints the answer, returns the exit code. Takes over Ctrl-C; "
      "for programs whose only purpose this is.");
}

}  // namespace zeroloss::python
