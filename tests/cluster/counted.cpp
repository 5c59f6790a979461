#include "cluster/counted.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace zeroloss::test {
namespace {

std::atomic<double> counted{0};

// The library is loaded later, by a module, and into no common space of names.
template <class F>
F* real(const char* name) {
  static void* const library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
  void* found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "%s: not in libmpi.so.40\n", name);
    std::abort();
  }
  return reinterpret_cast<F*>(found);
}

void count(int numbers, MPI_Datatype type, double times = 1) {
  static const auto size_of = real<decltype(MPI_Type_size)>("PMPI_Type_size");
  int bytes = 0;
  size_of(type, &bytes);
  counted += times * numbers * bytes;
}

int size(MPI_Comm all) {
  static const auto size_of = real<decltype(MPI_Comm_size)>("PMPI_Comm_size");
  int processes = 1;
  size_of(all, &processes);
  return processes;
}

int rank(MPI_Comm all) {
  static const auto rank_of = real<decltype(MPI_Comm_rank)>("PMPI_Comm_rank");
  int mine = 0;
  rank_of(all, &mine);
  return mine;
}

}  // namespace

double mpi_bytes() { return counted; }

}  // namespace zeroloss::test

using namespace zeroloss::test;

extern "C" {

int MPI_Send(const void* what, int numbers, MPI_Datatype type, int to, int tag, MPI_Comm all) {
  static const auto send = real<decltype(MPI_Send)>("PMPI_Send");
  count(numbers, type);
  return send(what, numbers, type, to, tag, all);
}

int MPI_Rsend(const void* what, int numbers, MPI_Datatype type, int to, int tag, MPI_Comm all) {
  static const auto send = real<decltype(MPI_Rsend)>("PMPI_Rsend");
  count(numbers, type);
  return send(what, numbers, type, to, tag, all);
}

int MPI_Isend(const void* what, int numbers, MPI_Datatype type, int to, int tag, MPI_Comm all,
              MPI_Request* request) {
  static const auto send = real<decltype(MPI_Isend)>("PMPI_Isend");
  count(numbers, type);
  return send(what, numbers, type, to, tag, all, request);
}

int MPI_Sendrecv(const void* what, int numbers, MPI_Datatype type, int to, int tag, void* into, int most,
                 MPI_Datatype their_type, int from, int their_tag, MPI_Comm all, MPI_Status* status) {
  static const auto exchange = real<decltype(MPI_Sendrecv)>("PMPI_Sendrecv");
  count(numbers, type);
  return exchange(what, numbers, type, to, tag, into, most, their_type, from, their_tag, all, status);
}

int MPI_Bcast(void* what, int numbers, MPI_Datatype type, int root, MPI_Comm all) {
  static const auto broadcast = real<decltype(MPI_Bcast)>("PMPI_Bcast");
  if (rank(all) == root) count(numbers, type, size(all) - 1);
  return broadcast(what, numbers, type, root, all);
}

int MPI_Reduce(const void* what, void* into, int numbers, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm all) {
  static const auto reduce = real<decltype(MPI_Reduce)>("PMPI_Reduce");
  if (rank(all) != root) count(numbers, type);
  return reduce(what, into, numbers, type, op, root, all);
}

int MPI_Allreduce(const void* what, void* into, int numbers, MPI_Datatype type, MPI_Op op, MPI_Comm all) {
  static const auto reduce = real<decltype(MPI_Allreduce)>("PMPI_Allreduce");
  count(numbers, type);
  return reduce(what, into, numbers, type, op, all);
}
}
