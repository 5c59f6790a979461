#pragma once

namespace zeroloss::internal {

/// relu's h~ at psi = pi - theta: (sin psi - psi cos psi)/(2 pi), given sin psi and rho = -cos psi. Below 1.5
/// the difference cancels down to psi^3/3: its Taylor series, whose 11 terms leave a relative 4e-20.
double relu_dual(double psi, double sine, double rho);

}  // namespace zeroloss::internal
