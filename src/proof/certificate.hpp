#pragma once
#include "proof/certified_points.hpp"
#include "zeroloss/proof/certificate.hpp"

/// certify_output and certify_descent for several networks or outputs at the same points.
namespace zeroloss::internal {

CertifiedOutput certify_output(const TwoLayer& network, const Activation& activation,
                               const CertifiedPoints& points, const Vector& y, Progress& progress,
                               bool polish = false);

Certificate certify_descent(const TwoLayer& network, const Activation& activation,
                            const CertifiedPoints& points, const Vector& y, Progress& progress);

}  // namespace zeroloss::internal
