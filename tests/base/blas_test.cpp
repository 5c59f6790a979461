#include "zeroloss/base/blas.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <fstream>
#include <iterator>
#include <latch>
#include <thread>

#include "linalg/lapack.hpp"

namespace zeroloss {
using namespace internal;
namespace {

bool openblas_is_loaded() {
  std::ifstream in("/proc/self/maps");
  return std::string(std::istreambuf_iterator<char>(in), {}).find("openblas") != std::string::npos;
}

TEST(Blas, KnowsOpenBlas) {
  const auto info = blas_info();
  if (!openblas_is_loaded()) GTEST_SKIP() << "another BLAS is loaded";
  EXPECT_EQ(info.library.rfind("OpenBLAS", 0), 0u) << info.library;
  EXPECT_NE(info.kernel, "unknown");
  EXPECT_NE(info.threading, "unknown");
}

TEST(Blas, SaysUnknownRatherThanNothing) {
  const auto info = blas_info();
  EXPECT_FALSE(info.library.empty());
  EXPECT_FALSE(info.kernel.empty());
  EXPECT_TRUE(info.threading == "serial" || info.threading == "pthreads" || info.threading == "OpenMP" ||
              info.threading == "unknown")
      << info.threading;
}

TEST(Blas, NamesTheVectorInstructions) {
  EXPECT_FALSE(simd_target().empty());
  EXPECT_NE(simd_target(), "Unknown");
}

// With a thread pool of its own OpenBLAS runs one thread while a SerialBlas lives, and as many as before
// afterwards.
TEST(Blas, SerialBlasIsUndone) {
  const auto count = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  if (count == nullptr) GTEST_SKIP() << "another BLAS is loaded";
  const int before = count();
  {
    const SerialBlas outer;
    const SerialBlas inner;
    EXPECT_EQ(count(), blas_info().threading == "pthreads" ? 1 : before);
  }
  EXPECT_EQ(count(), before);
}

// Of two overlapping lives on two threads the first to begin is the first to end: the other one still has one
// thread, and what was before comes back after both.
TEST(Blas, SerialBlasesOverlapOnTwoThreads) {
  if (blas_info().threading != "pthreads") GTEST_SKIP() << "no OpenBLAS with threads of its own";
  const auto count = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  const int before = count();
  set(2);
  std::latch first_began(1), second_began(1), first_ended(1);
  std::thread first([&] {
    {
      const SerialBlas serial;
      first_began.count_down();
      second_began.wait();
    }
    first_ended.count_down();
  });
  int alone = 0;
  {
    first_began.wait();
    const SerialBlas serial;
    second_began.count_down();
    first_ended.wait();
    alone = count();
  }
  first.join();
  const int after = count();
  set(before);
  EXPECT_EQ(alone, 1);
  EXPECT_EQ(after, 2);
}

// The declarations agree with the library that is linked: a product and a factor that can be checked by hand.
TEST(Lapack, MultipliesAndFactors) {
  Matrix A{{4, 2}, {2, 5}};
  Matrix product(2, 2);
  lapack::gemm('N', 'T', 2, 2, 2, 1.0, A.data(), 2, A.data(), 2, 0.0, product.data(), 2);
  EXPECT_EQ(product, (Matrix{{20, 18}, {18, 29}}));
  EXPECT_EQ(lapack::potrf('L', 2, A.data(), 2), 0);
  EXPECT_EQ(A(0, 0), 2);
  EXPECT_EQ(A(1, 0), 1);
  EXPECT_EQ(A(1, 1), 2);
  Matrix indefinite{{1, 0}, {0, -1}};
  EXPECT_EQ(lapack::potrf('L', 2, indefinite.data(), 2), 2);
}

TEST(Lapack, RefusesSizesThatBlasCannotCount) {
  EXPECT_EQ(lapack::size(2147483647), 2147483647);
  EXPECT_THROW(lapack::size(2147483648), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
