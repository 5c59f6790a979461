#pragma once
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The activations phi of the two-layer network, with the constants that the theorems ask for.
namespace zeroloss {

/// constant_plus_odd: phi'(z) + phi'(-z) is constant.
enum class Parity { none, even, odd, constant_plus_odd };

/// phi with its derivatives and suprema. A user's own function is one of these, filled in by hand: phi, dphi,
/// B, M are required (d2phi is not); it stays `tabulated = false`: results say "computed, not verified".
struct Activation {
  std::string name;
  std::function<double(double)> phi;
  std::function<double(double)> dphi;                  ///< generalised derivative; relu'(0) = 1
  std::function<double(double)> d2phi;                 ///< empty where phi'' does not exist (at a kink)
  double B = std::numeric_limits<double>::infinity();  ///< sup |phi'|, rounded up; infinite for quadratic
  /// sup |phi''|, rounded up; infinite where phi has a kink.
  double M = std::numeric_limits<double>::infinity();
  /// Of phi' (relu's but at 0). Even or odd: antipodal points give lambda = 0. Constant plus odd: linearly
  /// dependent sets of antipodal pairs do.
  Parity dphi_parity = Parity::none;
  bool tabulated = false;  ///< the library's own, whose Hermite coefficients have a proven error
  /// Where phi(z) = z for z >= 0 and leak z below, exactly that leak: 0 for relu. Empty for all others.
  std::optional<double> leak = {};

  bool smooth() const { return M < std::numeric_limits<double>::infinity(); }
  bool piecewise_linear() const { return leak.has_value(); }
  bool rectifier() const { return leak == 0.0; }  ///< is relu, whatever its name
};

/// The library's own of that name. Throws std::invalid_argument listing the names for any other. A phi, phi'
/// or phi'' is off by at most 16 u of its value, u = 2^-53, over the whole double range (measured: 8.9 u, by
/// gelu), and by 2^-1062 more where something on the way is below the normal doubles; gelu', silu' and
/// silu'', which have zeros inside, by 5 u more (measured: 0.9 u). Proved from what libm is taken to keep
/// (docs/design.md). Their limits hold at +-infinity (NaN where there is none) and nothing overflows where
/// the value does not.
const Activation& activation(std::string_view name);
std::vector<std::string> activation_names();

}  // namespace zeroloss
