#include "linear/svd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "linalg/lapack.hpp"

namespace zeroloss::internal {
namespace {

Svd decompose(Matrix& A, char job) {
  const int m = lapack::size(A.rows()), n = lapack::size(A.cols()), query = -1;
  Svd svd{Matrix(job == 'A' ? m : 0, job == 'A' ? m : 0), Vector(std::min(m, n)),
          Matrix(job == 'A' ? n : 0, job == 'A' ? n : 0)};
  const int u = std::max<int>(1, static_cast<int>(svd.U.rows())),
            v = std::max<int>(1, static_cast<int>(svd.Vt.rows()));
  double size = 0;
  int info = 0;
  dgesvd_(&job, &job, &m, &n, A.data(), &m, svd.s.data(), svd.U.data(), &u, svd.Vt.data(), &v, &size, &query,
          &info);
  std::vector<double> scratch(static_cast<std::size_t>(size));
  const int scratch_size = static_cast<int>(scratch.size());
  dgesvd_(&job, &job, &m, &n, A.data(), &m, svd.s.data(), svd.U.data(), &u, svd.Vt.data(), &v, scratch.data(),
          &scratch_size, &info);
  if (info != 0) throw std::runtime_error("LAPACK dgesvd failed with info " + fmt::to_string(info));
  return svd;
}

}  // namespace

Svd singular_values(Matrix A) { return decompose(A, 'N'); }
Svd singular_vectors(Matrix A) { return decompose(A, 'A'); }

}  // namespace zeroloss::internal
