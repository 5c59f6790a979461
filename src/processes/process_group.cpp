#include "zeroloss/processes/process_group.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <thread>

#include "processes/transport.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr const char* kPlugin = "libzeroloss_mpi.so";

// The folder of the file that this code was loaded from: the library, a program or an extension of Python.
std::filesystem::path own_folder() {
  Dl_info info;
  static const char here = 0;
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code failed;
  const auto file = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? std::filesystem::path() : file.parent_path();
}

std::shared_ptr<Transport> open_transport(const void* communicator, const std::string& why) {
  const std::filesystem::path folder = own_folder();
  std::string tried;
  void* library = nullptr;
  for (const auto& file :
       {folder / kPlugin, folder / ".." / "lib" / kPlugin, std::filesystem::path(kPlugin)}) {
    // MPI loads parts of itself, which look for its symbols among those of all.
    library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library != nullptr) break;
    if (tried.empty() || std::filesystem::exists(file)) tried = dlerror();
  }
  if (library == nullptr)
    throw BackendError(fmt::format(
        "{}, and MPI cannot be loaded: {}; build where MPI and ScaLAPACK are (Debian: libopenmpi-dev, "
        "libscalapack-openmpi-dev)",
        why, tried));
  const auto open = reinterpret_cast<OpenTransport>(dlsym(library, kOpenTransport));
  Transport* transport = open != nullptr ? open(communicator) : nullptr;
  if (transport == nullptr) throw BackendError(fmt::format("{}, and MPI cannot be started", why));
  if (transport->version != Transport::kVersion)
    throw BackendError(fmt::format("{} is of another version of zeroloss; build it again", kPlugin));
  return {transport, transport->free};
}

}  // namespace

Group Group::world(int expected) {
  if (expected < 2) return {};
  const std::string why = fmt::format("this is one of {} processes", expected);
  Group group(open_transport(nullptr, why), std::make_shared<Traffic>());
  if (group.size() != expected)
    throw BackendError(
        fmt::format("{}, of which MPI sees {}: start them by the mpirun of {}, or by srun with PMIx", why,
                    group.size(), group.library()));
  return group;
}

Group Group::of(const void* communicator) {
  Group group(open_transport(communicator, "a communicator was given"), std::make_shared<Traffic>());
  return group.size() > 1 ? group : Group();
}

int Group::rank() const { return transport_ ? transport_->rank : 0; }
int Group::size() const { return transport_ ? transport_->size : 1; }
bool Group::any_thread() const { return !transport_ || transport_->any_thread; }
std::string Group::library() const { return transport_ ? transport_->library : ""; }

void Group::count(std::size_t bytes) const {
  ++sent_->messages;
  sent_->bytes += static_cast<std::int64_t>(bytes);
}

void Group::broadcast(void* data, std::size_t bytes, int root) const {
  if (!transport_ || bytes == 0) return;
  if (rank() == root) count(bytes);
  transport_->broadcast(transport_.get(), data, bytes, root);
}

void Group::broadcast(std::string& text, int root) const {
  std::uint64_t length = text.size();
  broadcast(&length, sizeof length, root);
  text.resize(length);
  broadcast(text.data(), length, root);
}

void Group::sum(double* values, std::size_t numbers) const {
  if (!transport_ || numbers == 0) return;
  count(numbers * sizeof(double));
  transport_->sum(transport_.get(), values, numbers, -1);
}

void Group::sum_to(int root, double* values, std::size_t numbers) const {
  if (!transport_ || numbers == 0) return;
  count(numbers * sizeof(double));
  transport_->sum(transport_.get(), values, numbers, root);
}

double Group::largest(double value) const {
  if (!transport_) return value;
  count(sizeof value);
  transport_->largest(transport_.get(), &value);
  return value;
}

void Group::send(int to, const void* data, std::size_t bytes) const {
  if (!transport_) throw std::logic_error("Group: a process alone sends nothing");
  count(bytes);
  transport_->send(transport_.get(), to, data, bytes);
}

void Group::receive(int from, void* data, std::size_t bytes) const {
  if (!transport_) throw std::logic_error("Group: a process alone receives nothing");
  if (!transport_->receive(transport_.get(), from, data, bytes))
    throw std::logic_error("Group: a message has another length than expected");
}

void Group::exchange(int to, const void* out, std::size_t out_bytes, int from, void* in,
                     std::size_t in_bytes) const {
  if (!transport_) throw std::logic_error("Group: a process alone exchanges nothing");
  count(out_bytes);
  transport_->exchange(transport_.get(), to, out, out_bytes, from, in, in_bytes);
}

int Group::waiting() const { return transport_ ? transport_->waiting(transport_.get()) : -1; }

Group Group::split(int color) const {
  if (!transport_) return {};
  Transport* part = transport_->split(transport_.get(), color);
  return {std::shared_ptr<Transport>(part, part->free), sent_};
}

void Group::announce(std::string_view text) const {
  for (int to = 1; to < size(); ++to) {
    const std::uint64_t length = text.size();
    send(to, &length, sizeof length);
    send(to, text.data(), text.size());
  }
}

// MPI's own waiting keeps a processor busy, which process 0 can use.
std::string Group::listen() const {
  constexpr int kBusy = 2000;
  for (int looked = 0; waiting() != 0; ++looked)
    if (looked < kBusy)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  std::uint64_t length = 0;
  receive(0, &length, sizeof length);
  std::string text(length, '\0');
  receive(0, text.data(), length);
  return text;
}

void Group::call(const std::string& service) const { announce("call " + service); }
void Group::dismiss(int code) const { announce(fmt::format("exit {}", code)); }

void Group::abort(int code, const std::string& why) const {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string text =
      size() > 1 ? fmt::format("zeroloss: process {} of {} ({}): {}\n", rank(), size(), host, why)
                 : fmt::format("zeroloss: {}\n", why);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  if (transport_) transport_->abort(transport_.get(), code);
  std::_Exit(code);
}

int serve(const Group& group, const Services& services) {
  constexpr int kFailed = 3;
  try {
    while (true) {
      const std::string order = group.listen();
      if (order.starts_with("exit ")) return leading_integer(order.substr(5));
      services.at(order.substr(5))(group);
    }
  } catch (const std::bad_alloc&) {
    group.abort(kFailed, "out of memory");
  } catch (const std::exception& error) {
    group.abort(kFailed, error.what());
  }
}

Group::Traffic Group::traffic() const { return sent_ ? *sent_ : Traffic{}; }

}  // namespace zeroloss
