#include "training_options.hpp"

#include <fmt/format.h>

#include <cmath>

#include "zeroloss/train/optimizers.hpp"

namespace zeroloss::app {

std::string default_tolerances() {
  const auto power = [](double x) { return fmt::format("1e{:.0f}", std::log10(x)); };  // 1e-6, not 1e-06
  const double most = OptimizerFacts().tolerance;
  std::string text = power(most);
  for (const OptimizerFacts& known : optimizers())
    if (known.tolerance != most) text += fmt::format(", for {} {}", known.name, power(known.tolerance));
  return text;
}

void add_training_options(const Command& command, FitOptions& o) {
  const Command network = command.group("Network"), training = command.group("Training"),
                stopping = command.group("Stopping and proof");
  network
      .option("--precision", o.precision,
              fmt::format("float64, or float32 ({} only)", optimizers_with(&OptimizerFacts::float32)))
      .one_of({"float64", "float32"});
  network.flag("--center", o.center, "Subtract the mean point before normalising [off]");
  network.flag_off("--no-normalize", o.normalize,
                   "Refuse rows whose length is off 1 by more than 1e-12 [off]");
  std::vector<std::string> names;
  std::string described;
  for (const OptimizerFacts& known : optimizers()) {
    if (!described.empty()) described += known.name == optimizers().back().name ? " or " : ", ";
    described += known.name;
    if (!known.note.empty()) described += fmt::format(" ({})", known.note);
    names.emplace_back(known.name);
  }
  training.option("--optimizer", o.optimizer, described).one_of(names);
  training.option("--batch", o.batch, "Points in a step of " + optimizers_with(&OptimizerFacts::batch));
  training.option("--momentum", o.momentum,
                  "Of momentum: the part of the last step that is taken again, in [0, 1)");
  training.option("--flow-tolerance", o.flow_tolerance, "Error allowed in a step of flow");
  training
      .option("--space", o.space,
              "Where a step is computed: weights, gram (without touching W), or auto: the cheaper")
      .one_of({"auto", "weights", "gram"});
  stopping.option("--max-steps", o.max_steps, "Most steps of each output");
}

}  // namespace zeroloss::app
