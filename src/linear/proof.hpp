#pragma once
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/linear/linear_resnet.hpp"

/// Statements about stored doubles that hold in exact arithmetic, rounding included (theory 10).
namespace zeroloss::internal::verified {

/// ||A|| <= this, within a factor 1 + 16 d^2 u of it; infinite if an entry is not finite.
double norm_bound(const Matrix& A);

/// That a map is not singular, and its orientation.
struct Nonsingular {
  double s_min = 0;       ///< the least singular value is at least this; 0: nothing is proved
  bool reverses = false;  ///< det < 0
};
Nonsingular nonsingular(const Matrix& R);

/// Layers that are proved to be small and next to an exact factorisation of R.
struct NearExact {
  double missed = 0;                ///< ||(I + A_l) .. (I + A_1) - R||_F as computed
  double reconstruction_error = 0;  ///< the exact one is at most this
  /// R is exactly a product in which one layer, the first or the last, differs from the stored one by at most
  /// this (spectral norm); infinite if that is not proved.
  double correction = 0;
  double max_norm = 0;  ///< at least the norm of every layer of that product, and of every stored one
};

/// `s_min` <= the least singular value of R.
NearExact near_exact(const LinearResnet& network, const Matrix& R, double s_min);

}  // namespace zeroloss::internal::verified
