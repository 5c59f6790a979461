#include "train/fit_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "base/choices.hpp"
#include "train/deep/fit.hpp"
#include "train/engine/small_trainer.hpp"
#include "train/kernel/fit.hpp"
#include "train/optimizers/optimizers.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss::internal {

void require_fit(bool met, const std::string& what) {
  if (!met) throw std::invalid_argument("fit: " + what);
}

Step::Step(const std::string& text) {
  if (text == "auto") return;
  kind = text == "theorem" ? Kind::theorem : Kind::number;
  if (kind == Kind::theorem) return;
  value = parsed_number(text).value_or(0);
  require_fit(value > 0 && std::isfinite(value),
              fmt::format("step must be a number > 0, auto or theorem; got \"{}\"", text));
}

CheckedOptions checked(const FitOptions& o) {
  check_choices("fit", o);
  require_fit(o.width >= 0, fmt::format("width must be >= 1, or 0 for the usual one; got {}", o.width));
  require_fit(o.start.drawn() || o.width == 0 || o.width == o.start.width(),
              fmt::format("width is {}, but {} has weights of {} hidden units: leave `width` out", o.width,
                          o.start.source, o.start.drawn() ? 0 : o.start.width()));
  require_fit(!o.start.paired() || o.scaling == "ntk",
              "pairs have output weights of their own: leave scaling out");
  require_fit(!o.start.paired() || o.width % 2 == 0,
              fmt::format("width must be even for pairs; got {}", o.width));
  require_fit(o.output_scale > 0 && std::isfinite(o.output_scale),
              fmt::format("output_scale must be > 0; got {}", o.output_scale));
  require_fit(o.output_scale == 1 || o.start.drawn() || !o.start.has_v(),
              fmt::format("output_scale is for drawn output weights; {} has its own", o.start.source));
  require_fit(o.max_steps >= 0, fmt::format("max_steps must be >= 0; got {}", o.max_steps));
  require_fit(o.max_seconds >= 0 && std::isfinite(o.max_seconds),
              fmt::format("max_seconds must be > 0, or 0 for no limit; got {}", o.max_seconds));
  require_fit(o.patience >= 0, fmt::format("patience must be >= 0; got {}", o.patience));
  require_fit(o.tolerance >= 0 && std::isfinite(o.tolerance),
              fmt::format("tolerance must be > 0, or 0 for the default; got {}", o.tolerance));
  require_fit(o.certify_every >= 0, fmt::format("certify_every must be >= 0; got {}", o.certify_every));
  require_fit(o.record_every >= 0, fmt::format("record_every must be >= 0; got {}", o.record_every));
  require_fit(o.flow_tolerance > 0 && o.flow_tolerance < 1,
              fmt::format("flow_tolerance must be in (0, 1); got {}", o.flow_tolerance));
  require_fit(o.failure_probability > 0 && o.failure_probability < 1,
              fmt::format("failure_probability must be in (0, 1); got {}", o.failure_probability));
  std::error_code error;
  const auto folder = std::filesystem::absolute(o.checkpoint, error).parent_path();
  require_fit(o.checkpoint.empty() || std::filesystem::is_directory(folder, error),
              fmt::format("checkpoint: there is no folder {}", folder.string()));
  require_fit(o.checkpoint_every_s > 0,
              fmt::format("checkpoint_every_s must be > 0; got {}", o.checkpoint_every_s));

  CheckedOptions result{o, Step(o.step), &method(o.optimizer)};
  const OptimizerFacts& facts = result.method->facts;
  check_kernel_ridge(result);
  if (o.activation == "auto" && !facts.infinite) result.activation = kUsualActivation;
  using Facts = OptimizerFacts;
  require_fit(facts.step || result.rule.kind == Step::Kind::automatic,
              fmt::format("step is for {}; {} chooses its own: leave step out", optimizers_with(&Facts::step),
                          facts.name));
  require_fit(facts.float32 || o.precision == "float64",
              fmt::format("precision float32 is for {}; {} needs float64", optimizers_with(&Facts::float32),
                          facts.name));
  require_fit(o.batch >= 1, fmt::format("batch must be >= 1; got {}", o.batch));
  require_fit(facts.batch || o.batch == 1, fmt::format("batch is for {}; {} uses all points in every step",
                                                       optimizers_with(&Facts::batch), facts.name));
  require_fit(o.momentum >= 0 && o.momentum < 1,
              fmt::format("momentum must be in [0, 1); got {}", o.momentum));
  const FitOptions usual;
  require_fit(facts.momentum || o.momentum == usual.momentum,
              fmt::format("momentum is for {}; {} has none: leave it out", optimizers_with(&Facts::momentum),
                          facts.name));
  require_fit(facts.flow || o.flow_tolerance == usual.flow_tolerance,
              fmt::format("flow_tolerance is for {}; {} takes steps: leave it out",
                          optimizers_with(&Facts::flow), facts.name));
  if (result.activation != "auto") activation(result.activation);  // throws for an unknown name
  require_fit(!o.polish || (activation(result.activation).rectifier() && facts.hidden),
              "polish is for relu with trained hidden weights");
  require_fit(facts.gram || o.space != "gram", fmt::format("space gram is not for {}", facts.name));
  constexpr double kFloat = 1e-4;
  check_deep(result);
  if (o.tolerance == 0) result.tolerance = o.precision == "float32" ? kFloat : facts.tolerance;
  return result;
}

void check_engine(const CheckedOptions& o) {
  const auto device = [](bool met, const std::string& what) {
    require_fit(met, "a device " + what + "; leave `device` out for it");
  };
  device(o.method->facts.device,
         fmt::format("takes steps of {}, got {}", optimizers_with(&OptimizerFacts::device), o.optimizer));
  device(!o.deep(), "trains networks of one hidden layer, and `depth`, `widths` or `residual` ask for more");
  device(o.space != "gram", "takes every step in the space of weights, and `space=gram` asks for another");
}

bool trains_small(const FitOptions& o, Index n, Index d) {
  return method(o.optimizer).facts.small && !o.deep() && o.space != "gram" && is_small(n, d, o.width);
}

}  // namespace zeroloss::internal
