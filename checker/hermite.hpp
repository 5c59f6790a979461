#pragma once

#include <string>

#include "ball.hpp"

namespace check {

// E[phi'(u) phi'(v)] = sum of c_r rho^r for standard normal u, v of correlation rho, and what belongs to it.
struct Hermite {
  Balls c;    // c_r, of which none is negative
  Ball all;   // the sum of every c_r, E[phi'(g)^2]
  Ball mean;  // E[phi(g)]
};

// Of tanh, sigmoid, softplus, silu and gelu, proved to some 200 bits.
const Hermite& hermite(const std::string& activation);

}  // namespace check
