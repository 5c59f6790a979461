#pragma once
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/kernel/activation.hpp"

/// What the theorems promise before anything is trained: sufficient width, step, rate (theory 4).
namespace zeroloss {

/// One lower bound of lambda(X) = lambda_min(Sigma), with where it comes from.
struct LambdaSource {
  std::string name;  ///< "lambda_min", "mu_1^2 lambda_min(G o G)", ..
  double value = 0;  ///< <= 0: the row says that the condition lambda > 0 fails
  bool verified = false;
};

/// The numbers of a data set of unit rows that the theorems need. Every bound of lambda is at most B^2.
struct GuaranteeInput {
  double n = 0;         ///< points, >= 1
  double d = 0;         ///< features, >= 1
  double norm_X = 0;    ///< ||X||, spectral, rounded up
  double norm_y = 0;    ///< ||y|| of the worst class (largest); 0 without labels
  double networks = 1;  ///< trained independently, one a class: their failures add up
  bool has_labels = true;
  std::vector<LambdaSource> lambdas;            ///< bounds of lambda(X); at least one
  std::optional<LambdaSource> lambda_product;   ///< lambda_min(G o G), for Theorems 2.1 and 2.3
  std::optional<LambdaSource> lambda_features;  ///< lambda~(X) = lambda_min(Sigma~), for Theorem 3.2
  double mu_phi = 0;                            ///< mu_1(phi') = E[g phi'(g)], rounded towards 0
  /// E[phi(g)^2], rounded up, for Theorem 3.2; infinite: not known.
  double phi_squares = std::numeric_limits<double>::infinity();
  double separation = 0;             ///< delta (theory 2), rounded down; infinite for a single point
  bool separation_verified = false;  ///< delta is a proven lower bound
};

struct GuaranteeOptions {
  double failure_probability = 0.01;  ///< p, in (0, 1): of a whole statement, all networks together
  double accuracy = 1e-3;             ///< relative misfit to be reached, in (0, 1): `steps` counts to it
  double width = 0;  ///< hidden units of a given network; 0 = none given: `holds` ignores the width
};

/// A theorem, whatever the data, with the constants that theory 4 proves: sharper than in print.
struct Theorem {
  std::string id;      ///< "dzps_4_1": paper and number; "zl_a": of theory 4 itself
  std::string source;  ///< "Du et al. 2018"
  std::string number;  ///< "4.1"
  /// descent: training reaches these labels; fit: any labels can be fitted, by output weights; kernel: only
  /// that the kernel at the start keeps half of lambda_min.
  std::string gives;
  /// LaTeX, a formula a line: width, step and what they give, but for the failure probability p. Symbols are
  /// those of theory 4; letters, numbers, ^ _ ( ) [ ] + - = < > / , ' and the commands frac sqrt tilde quad
  /// cdot circ le ge log max min lVert rVert and Greek letters.
  std::string statement;
  /// LaTeX: the width as the paper prints it, up to numbers that it leaves open; empty for one of theory 4.
  std::string printed;

  std::string title() const { return source + ", Thm " + number; }
};
template <Is<Theorem> T, class Visitor>
void fields(T& t, const Visitor& visit) {
  visit(Field{"id", "Paper and number: dzps_4_1."}, t.id);
  visit(Field{"source", "Du et al. 2018."}, t.source);
  visit(Field{"number"}, t.number);
  visit(Field{"gives",
              "descent: training reaches these labels; fit: any labels can be fitted, by output "
              "weights; kernel: only that the kernel at the start keeps half of lambda_min."},
        t.gives);
  visit(Field{"statement", "LaTeX, a formula a line."}, t.statement);
  visit(Field{"printed", "LaTeX: the width as the paper prints it."}, t.printed);
}

/// All, in the order of theory 4.
std::vector<Theorem> theorems();
/// Throws std::out_of_range for an id that is not among them.
Theorem theorem(std::string_view id);

/// One theorem applied to one data set. Numbers are doubles rounded in the safe direction (width and steps
/// up, step and rate down, by some 1e-14 relative); widths reach 1e40, and one beyond 1.8e308 is infinite.
struct Guarantee {
  std::string id = {};           ///< Theorem::id
  std::string theorem = {};      ///< "Du et al. 2018, Thm 4.1", ..
  std::string lambda_from = {};  ///< which bound of lambda; empty where the theorem does not apply to phi
  std::optional<double> lambda_bound = {};  ///< that bound, of zl_a an angle; where the theorem applies
  bool verified = false;                    ///< lambda is a verified bound
  bool flow = false;  ///< continuous time: no step; `rate` and `steps` are per unit of time
  /// Every condition but the width is met; with options.width also width >= the sufficient one.
  bool holds = false;
  /// Sufficient hidden units: this many or any larger number, odd or even (pairs: even).
  std::optional<double> width = {};
  std::optional<double> step = {};  ///< largest step eta that the theorem allows (flow: none)
  /// ||r|| shrinks at least by the factor (1 - rate) a step of this size (flow: exp(-rate t); SGD: its root
  /// mean square over the event).
  std::optional<double> rate = {};
  std::optional<double> steps = {};  ///< steps (flow: time) until ||r_k|| <= accuracy ||r_0||
  /// Of the whole statement: p.
  std::optional<double> failure_probability = {};
  std::string reason = {};  ///< why it fails and by how much, then why an entry is missing; empty if neither
};
template <Is<Guarantee> T, class Visitor>
void fields(T& g, const Visitor& visit) {
  visit(Field{"id", "Of the theorem."}, g.id);
  visit(Field{"theorem"}, g.theorem);
  visit(Field{"lambda_from", "Which bound of lambda."}, g.lambda_from);
  visit(Field{"lambda_bound", "That bound, of zl_a an angle; None where the theorem does not apply."},
        g.lambda_bound);
  visit(Field{"verified", "lambda is a verified bound."}, g.verified);
  visit(Field{"flow", "Continuous time: rate and steps are per unit of time."}, g.flow);
  visit(Field{"holds"}, g.holds);
  visit(Field{"width", "Sufficient hidden units."}, g.width);
  visit(Field{"step", "Largest step that the theorem allows."}, g.step);
  visit(Field{"rate", "||r|| shrinks at least by 1 - rate a step."}, g.rate);
  visit(Field{"steps", "Steps until ||r_k|| <= accuracy ||r_0||."}, g.steps);
  visit(Field{"failure_probability"}, g.failure_probability);
  visit(Field{"reason", "Why it fails and by how much."}, g.reason);
}

/// Every row of theory 4, in its order: [DZPS] 3.1, 4.1, [OS] 6.2, 2.1, 6.3, 2.3, 2.5, 2.6, 3.2, then A, B, C
/// of its own. The general theorems (3.1, 4.1, 6.2, 6.3, B, C) have one row for each of input.lambdas; a
/// theorem that does not apply to phi has one row, with the reason. Throws std::invalid_argument for options
/// or inputs out of range.
std::vector<Guarantee> guarantees(const Activation& activation, const GuaranteeInput& input,
                                  const GuaranteeOptions& options = {});

}  // namespace zeroloss
