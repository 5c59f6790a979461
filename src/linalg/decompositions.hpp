#pragma once
#include <complex>

#include "zeroloss/base/matrix.hpp"

/// Dense decompositions, by LAPACK with one thread, since its bits depend on how many there are, or by Eigen,
/// compiled once: wherever one of its is instantiated it takes 5 to 15 seconds. Symmetric eigenvalues are
/// Eigen's, since zeroloss-torch, which may be built without LAPACK, needs them.
namespace zeroloss::internal {

struct SymmetricEigen {
  Vector values;   ///< ascending
  Matrix vectors;  ///< orthonormal columns
};

/// Of a symmetric matrix, whose lower triangle is read.
SymmetricEigen symmetric_eigen(const Matrix& A);
Vector symmetric_eigenvalues(const Matrix& A);

/// Of any square matrix, in no order; NaN where it fails.
Eigen::VectorXcd eigenvalues(const Matrix& A);

/// A = U T U^T with U orthogonal and T block upper triangular, blocks of size 1 and 2.
struct RealSchur {
  Matrix U, T;
};
RealSchur real_schur(const Matrix& A);

/// The principal logarithm; not finite where it fails.
Matrix logarithm(const Matrix& A);

/// P A = L U with partial pivoting.
struct Lu {
  Matrix L, U;
  Eigen::VectorXi permutation;  ///< row i of A is row permutation(i) of P A
  bool odd = false;             ///< det P = -1
  Matrix inverse;               ///< of A; not finite if A is singular
};
Lu lu(const Matrix& A);
double determinant(const Matrix& A);

/// L of A = L L^T.
Matrix cholesky(const Matrix& A);

/// x of least ||A x - b||, of these the shortest: by LAPACK's dgelsd, singular values of A below max(n, d) u
/// times the largest counting as 0. Throws std::runtime_error if the singular values do not converge.
Vector least_squares(Matrix A, const Vector& b);

/// A = Q R by Householder reflections.
class Qr {
 public:
  explicit Qr(const Matrix& A);
  Matrix R() const;                   ///< min(n, d) x d, upper triangular
  Matrix Q(Index columns) const;      ///< the first so many columns of Q
  Matrix transposed(Matrix B) const;  ///< Q^T B
  Index reflections() const;          ///< that are not the identity: det Q = (-1)^reflections

 private:
  Matrix multiplied(const char* transposed, Matrix B) const;

  Matrix packed_;
  Vector coefficients_;
};

}  // namespace zeroloss::internal
