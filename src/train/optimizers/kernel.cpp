#include "train/optimizers/optimizers.hpp"

namespace zeroloss::internal::methods {

// No steps: fit() solves the equations of the infinitely wide network at once (train/kernel/fit.hpp).
extern constexpr Method kernel{
    {.name = "kernel",
     .note = "the infinitely wide network, for unseen points: kernel ridge regression",
     .infinite = true},
    nullptr};

}  // namespace zeroloss::internal::methods
