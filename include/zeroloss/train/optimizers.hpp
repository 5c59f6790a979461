#pragma once
#include <string>
#include <string_view>
#include <vector>

/// The optimizers that fit knows, and what is to be known of each before it runs.
namespace zeroloss {

struct OptimizerFacts {
  std::string_view name;
  std::string_view note = {};  ///< what help says of it; may be empty
  double tolerance = 1e-6;     ///< relative misfit to reach where none is asked for, in float64
  bool step = false;           ///< takes `step`; others choose their own
  bool batch = false;          ///< takes `batch`; others use all points in every step
  bool momentum = false;       ///< takes `momentum`
  bool float32 = false;        ///< knows float32 too
  bool gram = false;           ///< its steps can be computed in Gram space
  bool device = false;         ///< a device can take its steps
  bool small = false;          ///< small networks have a trainer of their own
  bool together = false;       ///< a device can train many networks at once
  bool flow = false;           ///< continuous time; takes `flow_tolerance`
  bool hidden = true;          ///< trains the hidden weights W; otherwise the output weights v
  bool infinite = false;  ///< no weights: the infinitely wide network itself, solved at once; takes `ridge`
  bool forecast = false;  ///< the infinitely wide network's curve is known
};

/// All, in the order in which help lists them.
std::vector<OptimizerFacts> optimizers();
/// Throws std::out_of_range for a name that is not among them.
OptimizerFacts optimizer(std::string_view name);
/// Names of those with a property, as in "gd, sgd and flow".
std::string optimizers_with(bool OptimizerFacts::*property);

/// "gd|sgd|..", all of them.
const char* optimizer_choices();
/// Help of the field of FitOptions that names optimizers: optimizer, step, batch, precision, tolerance; and
/// of the axes of a sweep: "step axis", "tolerance axis". Throws std::out_of_range for others.
const char* optimizer_help(const std::string& field);

}  // namespace zeroloss
