#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

/// The processes that work on one problem: one by default, several where mpirun or srun started them.
namespace zeroloss {

namespace internal {
struct Transport;
}

/// A value: copies are the same processes. Process 0 leads: it reads, decides and writes; the others serve()
/// until it dismisses them, and take part where it calls for them. Members that name no process are called by
/// all of them, in the same order.
class Group {
 public:
  Group() = default;  ///< this process alone

  /// All that mpirun or srun started, `expected` in number; this process alone where that is less than 2. MPI
  /// is loaded here and in of(), and nowhere else. Throws BackendError where it cannot be, or does not see
  /// them all.
  static Group world(int expected);
  /// Those of an MPI communicator, given by the address of its handle (mpi4py's MPI._addressof(comm)).
  static Group of(const void* communicator);

  int rank() const;  ///< 0 .. size() - 1
  int size() const;
  bool leads() const { return rank() == 0; }
  /// Whether any thread may call, one at a time: false where MPI was begun by others, for one thread.
  bool any_thread() const;
  /// "Open MPI v4.1.4", or "" of one process.
  std::string library() const;

  /// From process `root` to all.
  void broadcast(void* data, std::size_t bytes, int root = 0) const;
  template <class T>
  void broadcast(std::span<T> values, int root = 0) const {
    broadcast(static_cast<void*>(values.data()), values.size_bytes(), root);
  }
  void broadcast(std::string& text, int root = 0) const;
  /// Sums over the processes, entry by entry: on all, or on `root` alone (what the others hold then is
  /// undefined).
  void sum(double* values, std::size_t numbers) const;
  void sum_to(int root, double* values, std::size_t numbers) const;
  /// The largest over the processes, on all.
  double largest(double value) const;

  /// From one process to another, in order. receive() throws std::logic_error if the message has another
  /// length.
  void send(int to, const void* data, std::size_t bytes) const;
  void receive(int from, void* data, std::size_t bytes) const;
  /// Rings and other patterns in which all send before any receives.
  void exchange(int to, const void* out, std::size_t out_bytes, int from, void* in,
                std::size_t in_bytes) const;
  /// A process whose message waits to be received, or -1. Does not wait.
  int waiting() const;

  /// Process 0 to all others, who wait for it without using the processor.
  void announce(std::string_view text) const;
  std::string listen() const;

  /// Process 0: the others begin this service of theirs, or end and leave serve() with this exit code.
  void call(const std::string& service) const;
  void dismiss(int code) const;

  /// Processes of the same color, ranked as here.
  Group split(int color) const;

  /// Says why on standard error and ends every process with this exit code, at once.
  [[noreturn]] void abort(int code, const std::string& why) const;

  /// What this process sent through this value, its copies and its parts; of a collective call what went in.
  struct Traffic {
    std::int64_t messages = 0, bytes = 0;
  };
  Traffic traffic() const;

  /// ScaLAPACK speaks through it; null of one process.
  const internal::Transport* transport() const { return transport_.get(); }

 private:
  Group(std::shared_ptr<internal::Transport> transport, std::shared_ptr<Traffic> sent)
      : transport_(std::move(transport)), sent_(std::move(sent)) {}
  void count(std::size_t bytes) const;

  std::shared_ptr<internal::Transport> transport_;
  std::shared_ptr<Traffic> sent_;
};

/// What a process other than 0 does: the services that process 0 calls for, until it is dismissed. Returns
/// the exit code. An exception of a service ends all processes.
using Services = std::map<std::string, std::function<void(const Group&)>>;
int serve(const Group& group, const Services& services);

}  // namespace zeroloss
