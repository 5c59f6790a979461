#include "training_options.hpp"

namespace zeroloss::app {

void add_training_options(const Command& command, FitOptions& o) {
  const Command network = command.group("Network"), training = command.group("Training"),
                stopping = command.group("Stopping and proof");
  network.option("--precision", o.precision, "float64, or float32 (gd and sgd only)")
      .one_of({"float64", "float32"});
  network.flag("--center", o.center, "Subtract the mean point before normalising [off]");
  network.flag_off("--no-normalize", o.normalize,
                   "Refuse rows whose length is off 1 by more than 1e-12 [off]");
  training
      .option(
          "--optimizer", o.optimizer,
          "gd, sgd, gauss_newton (quickest to zero loss; n^2 memory), flow (gradient flow) or output_layer "
          "(random features)")
      .one_of({"gd", "sgd", "gauss_newton", "flow", "output_layer"});
  training.option("--batch", o.batch, "Points in a step of sgd");
  training.option("--flow-tolerance", o.flow_tolerance, "Error allowed in a step of flow");
  training
      .option("--space", o.space,
              "Where a step is computed: weights, gram (without touching W), or auto: the cheaper")
      .one_of({"auto", "weights", "gram"});
  stopping.option("--max-steps", o.max_steps, "Most steps of each output");
}

}  // namespace zeroloss::app
