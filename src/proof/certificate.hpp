#pragma once
#include "proof/certified_points.hpp"
#include "zeroloss/proof/certificate.hpp"

/// certify_output and certify_descent for several networks or outputs at the same points.
namespace zeroloss::internal {

CertifiedOutput certify_output(const TwoLayer& network, const Activation& activation,
                               const CertifiedPoints& points, const Vector& y, Progress& progress,
                               bool polish = false);

/// What certify_descent takes beside its arguments and what the points keep; certify_output as much, until
/// existence asks for its own.
double certificate_bytes(Index n, Index d, Index m, const TangentEngine* engine = nullptr);

Certificate certify_descent(const TwoLayer& network, const Activation& activation,
                            const CertifiedPoints& points, const Vector& y, Progress& progress);

}  // namespace zeroloss::internal
