#include "training_options.hpp"

namespace zeroloss::app {

CLI::IsMember one_of(std::initializer_list<const char*> names) {
  return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

void add_training_options(CLI::App& app, FitOptions& o) {
  const auto add = [&](const char* group, const char* flag, auto& field, const char* help) {
    return app.add_option(flag, field, help)->group(group)->capture_default_str();
  };
  constexpr auto kNetwork = "Network", kTraining = "Training", kStopping = "Stopping and proof";
  add(kNetwork, "--precision", o.precision, "float64, or float32 (gd and sgd only)")
      ->check(one_of({"float64", "float32"}));
  app.add_flag("--center", o.center, "Subtract the mean point before normalising [off]")->group(kNetwork);
  app.add_flag_callback(
         "--no-normalize", [&o] { o.normalize = false; },
         "Refuse rows whose length is off 1 by more than 1e-12 [off]")
      ->group(kNetwork);
  add(kTraining, "--optimizer", o.optimizer,
      "gd, sgd, gauss_newton (quickest to zero loss; n^2 memory), flow (gradient flow) or output_layer "
      "(random features)")
      ->check(one_of({"gd", "sgd", "gauss_newton", "flow", "output_layer"}));
  add(kTraining, "--batch", o.batch, "Points in a step of sgd");
  add(kTraining, "--flow-tolerance", o.flow_tolerance, "Error allowed in a step of flow");
  add(kTraining, "--space", o.space,
      "Where a step is computed: weights, gram (without touching W), or auto: the cheaper")
      ->check(one_of({"auto", "weights", "gram"}));
  add(kStopping, "--max-steps", o.max_steps, "Most steps of each output");
}

}  // namespace zeroloss::app
