#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "processes/transport.hpp"

// The whole of libzeroloss_mpi.so: MPI's and ScaLAPACK's calls, and nothing of the library's. It may be
// compiled by itself for another MPI or another library with ScaLAPACK's interface:
//   mpicxx -std=c++20 -O2 -fPIC -shared -I src src/mpi/mpi.cpp -o libzeroloss_mpi.so -lscalapack
extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
void pdpotrf_(const char* uplo, const int* n, double* A, const int* ia, const int* ja, const int* desc,
              int* info);
void pdpotrs_(const char* uplo, const int* n, const int* columns, const double* A, const int* ia,
              const int* ja, const int* desc, double* B, const int* ib, const int* jb, const int* descb,
              int* info);
void pdtrsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m,
             const int* n, const double* alpha, const double* A, const int* ia, const int* ja,
             const int* desc, double* B, const int* ib, const int* jb, const int* descb);
void pdsyev_(const char* job, const char* uplo, const int* n, double* A, const int* ia, const int* ja,
             const int* desc, double* values, double* Z, const int* iz, const int* jz, const int* descz,
             double* work, const int* size, int* info);
}

namespace zeroloss::internal {
namespace {

constexpr int kTag = 77;
constexpr std::size_t kMost = std::size_t{1} << 30;  // of one call: MPI counts in int

MPI_Comm& comm_of(Transport* t) { return *static_cast<MPI_Comm*>(t->communicator); }

template <class Call>
void in_parts(std::size_t bytes, const Call& call) {
  for (std::size_t begin = 0; begin < bytes; begin += kMost)
    call(begin, static_cast<int>(std::min(kMost, bytes - begin)));
}

void broadcast(Transport* t, void* data, std::size_t bytes, int root) {
  in_parts(bytes, [&](std::size_t begin, int part) {
    MPI_Bcast(static_cast<char*>(data) + begin, part, MPI_BYTE, root, comm_of(t));
  });
}

void sum(Transport* t, double* values, std::size_t numbers, int root) {
  in_parts(numbers, [&](std::size_t begin, int part) {
    if (root < 0)
      MPI_Allreduce(MPI_IN_PLACE, values + begin, part, MPI_DOUBLE, MPI_SUM, comm_of(t));
    else if (t->rank == root)
      MPI_Reduce(MPI_IN_PLACE, values + begin, part, MPI_DOUBLE, MPI_SUM, root, comm_of(t));
    else
      MPI_Reduce(values + begin, nullptr, part, MPI_DOUBLE, MPI_SUM, root, comm_of(t));
  });
}

void largest(Transport* t, double* value) {
  MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_DOUBLE, MPI_MAX, comm_of(t));
}

void send(Transport* t, int to, const void* data, std::size_t bytes) {
  if (bytes == 0) MPI_Send(nullptr, 0, MPI_BYTE, to, kTag, comm_of(t));
  in_parts(bytes, [&](std::size_t begin, int part) {
    MPI_Send(static_cast<const char*>(data) + begin, part, MPI_BYTE, to, kTag, comm_of(t));
  });
}

bool receive(Transport* t, int from, void* data, std::size_t bytes) {
  bool right = true;
  const auto one = [&](std::size_t begin, int part) {
    MPI_Status status;
    int length = 0;
    MPI_Probe(from, kTag, comm_of(t), &status);
    MPI_Get_count(&status, MPI_BYTE, &length);
    right &= length == part;
    if (right)
      MPI_Recv(static_cast<char*>(data) + begin, part, MPI_BYTE, from, kTag, comm_of(t), MPI_STATUS_IGNORE);
  };
  if (bytes == 0) one(0, 0);
  in_parts(bytes, [&](std::size_t begin, int part) {
    if (right) one(begin, part);
  });
  return right;
}

void exchange(Transport* t, int to, const void* out, std::size_t out_bytes, int from, void* in,
              std::size_t in_bytes) {
  // All are on their way before anybody waits.
  std::vector<MPI_Request> requests;
  in_parts(in_bytes, [&](std::size_t begin, int part) {
    MPI_Irecv(static_cast<char*>(in) + begin, part, MPI_BYTE, from, kTag, comm_of(t),
              &requests.emplace_back());
  });
  in_parts(out_bytes, [&](std::size_t begin, int part) {
    MPI_Isend(static_cast<const char*>(out) + begin, part, MPI_BYTE, to, kTag, comm_of(t),
              &requests.emplace_back());
  });
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int waiting(Transport* t) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag, comm_of(t), &there, &status);
  return there != 0 ? status.MPI_SOURCE : -1;
}

void stop(Transport* t, int code) { MPI_Abort(comm_of(t), code); }

int grid(Transport* t, int rows, int columns) {
  const int system = Csys2blacs_handle(comm_of(t));
  int context = system;
  Cblacs_gridinit(&context, "Row", rows, columns);
  Cfree_blacs_system_handle(system);  // the grid has a communicator of its own
  return context;
}

void grid_free(int context) { Cblacs_gridexit(context); }

struct Descriptor {
  int numbers[9];
  Descriptor(int context, std::int64_t rows, std::int64_t columns, std::int64_t row_block,
             std::int64_t column_block, std::int64_t stride)
      : numbers{1,
                context,
                static_cast<int>(rows),
                static_cast<int>(columns),
                static_cast<int>(row_block),
                static_cast<int>(column_block),
                0,
                0,
                static_cast<int>(std::max<std::int64_t>(stride, 1))} {}
};

int factor(int context, std::int64_t n, std::int64_t block, double* A, std::int64_t stride) {
  const Descriptor a(context, n, n, block, block, stride);
  const int size = static_cast<int>(n), one = 1;
  int info = 0;
  pdpotrf_("L", &size, A, &one, &one, a.numbers, &info);
  return info;
}

int solve(int context, std::int64_t n, std::int64_t block, const double* L, std::int64_t stride, double* B,
          std::int64_t b_stride, std::int64_t columns) {
  const Descriptor a(context, n, n, block, block, stride), b(context, n, columns, block, columns, b_stride);
  const int size = static_cast<int>(n), width = static_cast<int>(columns), one = 1;
  int info = 0;
  pdpotrs_("L", &size, &width, L, &one, &one, a.numbers, B, &one, &one, b.numbers, &info);
  return info;
}

void divide(int context, std::int64_t n, std::int64_t first, std::int64_t block, const double* L,
            std::int64_t stride, double* B, std::int64_t b_stride, std::int64_t columns) {
  const Descriptor a(context, n, n, block, block, stride), b(context, n, columns, block, block, b_stride);
  const int rows = static_cast<int>(n - first), width = static_cast<int>(columns),
            at = static_cast<int>(first) + 1, one = 1;
  const double unit = 1;
  pdtrsm_("L", "L", "N", "N", &rows, &width, &unit, L, &at, &at, a.numbers, B, &at, &one, b.numbers);
}

int eigenvalues(int context, std::int64_t n, std::int64_t block, double* A, std::int64_t stride,
                double* values) {
  const Descriptor a(context, n, n, block, block, stride);
  const int size = static_cast<int>(n), one = 1, ask = -1;
  int info = 0;
  double wanted = 0;
  pdsyev_("N", "L", &size, A, &one, &one, a.numbers, values, nullptr, &one, &one, a.numbers, &wanted, &ask,
          &info);
  if (info != 0) return info;
  std::vector<double> work(static_cast<std::size_t>(wanted) + 1);
  const int given = static_cast<int>(work.size());
  pdsyev_("N", "L", &size, A, &one, &one, a.numbers, values, nullptr, &one, &one, a.numbers, work.data(),
          &given, &info);
  return info;
}

// MPI ends with the process that began it: whoever called MPI_Init before us does so himself.
void end() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0) MPI_Finalize();
}

const char* library_name() {
  static const std::string name = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    return std::string(text, std::find(text, text + length, ','));
  }();
  return name.c_str();
}

Transport* split(Transport* t, int color);

void free(Transport* t) {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0 && comm_of(t) != MPI_COMM_WORLD) MPI_Comm_free(&comm_of(t));
  delete static_cast<MPI_Comm*>(t->communicator);
  delete t;
}

Transport* made(MPI_Comm comm, bool any_thread) {
  auto* t = new Transport;
  t->any_thread = any_thread;
  t->library = library_name();
  t->communicator = new MPI_Comm(comm);
  MPI_Comm_rank(comm, &t->rank);
  MPI_Comm_size(comm, &t->size);
  t->free = free;
  t->broadcast = broadcast;
  t->sum = sum;
  t->largest = largest;
  t->send = send;
  t->receive = receive;
  t->exchange = exchange;
  t->waiting = waiting;
  t->split = split;
  t->abort = stop;
  t->grid = grid;
  t->grid_free = grid_free;
  t->factor = factor;
  t->solve = solve;
  t->divide = divide;
  t->eigenvalues = eigenvalues;
  return t;
}

Transport* split(Transport* t, int color) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(comm_of(t), color, t->rank, &part);
  return made(part, t->any_thread);
}

}  // namespace
}  // namespace zeroloss::internal

extern "C" zeroloss::internal::Transport* zeroloss_open_transport(const void* communicator) {
  int begun = 0;
  MPI_Initialized(&begun);
  int threads = MPI_THREAD_SINGLE;
  if (begun == 0) {
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS) return nullptr;
    std::atexit(zeroloss::internal::end);
  } else {
    MPI_Query_thread(&threads);
  }
  // Its own messages do not meet those of others on the same communicator.
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(communicator != nullptr ? *static_cast<const MPI_Comm*>(communicator) : MPI_COMM_WORLD, &own);
  return zeroloss::internal::made(own, threads >= MPI_THREAD_SERIALIZED);
}
