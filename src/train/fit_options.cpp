#include "train/fit_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "train/engine/small_trainer.hpp"

namespace zeroloss::internal {
namespace {

void require(bool met, const std::string& what) {
  if (!met) throw std::invalid_argument("fit: " + what);
}

void one_of(const char* option, const std::string& value, std::initializer_list<const char*> allowed) {
  const bool known = std::find(allowed.begin(), allowed.end(), value) != allowed.end();
  require(known, fmt::format("{} must be one of {}; got \"{}\"", option, fmt::join(allowed, ", "), value));
}

}  // namespace

bool weights_only(const FitOptions& o) {
  return o.optimizer == "sgd" || o.optimizer == "flow" || o.optimizer == "output_layer";
}

FitOptions checked(FitOptions o) {
  one_of("scaling", o.scaling, {"ntk", "balanced"});
  one_of("optimizer", o.optimizer, {"gd", "sgd", "gauss_newton", "flow", "output_layer"});
  one_of("precision", o.precision, {"float64", "float32"});
  one_of("stop", o.stop, {"tolerance", "certificate"});
  one_of("space", o.space, {"auto", "weights", "gram"});
  require(o.width >= 1, fmt::format("width must be >= 1; got {}", o.width));
  require(o.max_steps >= 0, fmt::format("max_steps must be >= 0; got {}", o.max_steps));
  require(o.tolerance >= 0 && std::isfinite(o.tolerance),
          fmt::format("tolerance must be > 0, or 0 for the default; got {}", o.tolerance));
  require(o.certify_every >= 0, fmt::format("certify_every must be >= 0; got {}", o.certify_every));
  require(o.record_every >= 0, fmt::format("record_every must be >= 0; got {}", o.record_every));
  require(o.flow_tolerance > 0 && o.flow_tolerance < 1,
          fmt::format("flow_tolerance must be in (0, 1); got {}", o.flow_tolerance));
  require(o.failure_probability > 0 && o.failure_probability < 1,
          fmt::format("failure_probability must be in (0, 1); got {}", o.failure_probability));
  std::error_code error;
  const auto folder = std::filesystem::absolute(o.checkpoint, error).parent_path();
  require(o.checkpoint.empty() || std::filesystem::is_directory(folder, error),
          fmt::format("checkpoint: there is no folder {}", folder.string()));
  require(o.checkpoint_every_s > 0,
          fmt::format("checkpoint_every_s must be > 0; got {}", o.checkpoint_every_s));

  const bool descent = o.optimizer == "gd" || o.optimizer == "sgd";
  if (o.step != "auto" && o.step != "theorem") {
    char* end = nullptr;
    const double step = std::strtod(o.step.c_str(), &end);
    require(!o.step.empty() && *end == '\0' && step > 0 && std::isfinite(step),
            fmt::format("step must be a number > 0, auto or theorem; got \"{}\"", o.step));
  }
  require(descent || o.step == "auto",
          fmt::format("step is for gd and sgd; {} chooses its own: leave step out", o.optimizer));
  require(descent || o.precision == "float64",
          fmt::format("precision float32 is for gd and sgd; {} needs float64", o.optimizer));
  require(o.batch >= 1, fmt::format("batch must be >= 1; got {}", o.batch));
  require(o.optimizer == "sgd" || o.batch == 1,
          fmt::format("batch is for sgd; {} uses all points in every step", o.optimizer));
  require(!o.polish || (o.activation == "relu" && o.optimizer != "output_layer"),
          "polish is for relu with trained hidden weights");
  require(!weights_only(o) || o.space != "gram", fmt::format("space gram is not for {}", o.optimizer));
  activation(o.activation);  // throws for an unknown name
  if (o.tolerance == 0)
    o.tolerance = o.precision == "float32" ? 1e-4 : o.optimizer == "gauss_newton" ? 1e-9 : 1e-6;
  return o;
}

bool trains_small(const FitOptions& o, Index n, Index d) {
  return o.optimizer == "gd" && o.space != "gram" && is_small(n, d, o.width);
}

}  // namespace zeroloss::internal
