#include "data_options.hpp"

#include <cstdint>

namespace zeroloss::app {

void add_read_options(CLI::App& app, ReadOptions& options, bool n_and_d) {
  const auto add = [&](const char* flag, auto& field, const char* help) {
    return app.add_option(flag, field, help)->group("Data");
  };
  add("--target", options.target,
      "csv: target column, a name or a 0-based index; none = all columns are features [label, target, class "
      "or y if there is one]")
      ->type_name("NAME|INDEX");
  add("--task", options.task, "auto (text or few integers are classes), regression or classification")
      ->capture_default_str()
      ->type_name("TASK")
      ->check(CLI::IsMember({"auto", "regression", "classification"}));
  add("--split", options.split, "train or test, where DATA has both")
      ->capture_default_str()
      ->type_name("SPLIT")
      ->check(CLI::IsMember({"train", "test"}));
  if (n_and_d) {
    add("--n", options.n, "keep the first n points; 0 = all")->type_name("INT")->capture_default_str();
    add("--d", options.d, "project onto a random subspace of d dimensions; 0 = keep the features")
        ->type_name("INT")
        ->capture_default_str();
  }
  app.add_flag("--shuffle", options.shuffle,
               "keep a random subset of n points, in random order, instead of the first [off]")
      ->group("Data");
  add("--classes", options.classes,
      "keep only these classes, by name: a comma separated list of two or more [all]")
      ->type_name("A,B,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--labels", options.labels,
      "given, random, or noise:p: each label replaced by another with probability p in [0, 1]")
      ->capture_default_str()
      ->type_name("LABELS");
  add("--seed", options.seed, "of --shuffle, --d, --labels and generated data: an integer from 0 to 2^53 - 1")
      ->capture_default_str()
      ->type_name("INT")
      ->check(CLI::Range(std::uint64_t{0}, (std::uint64_t{1} << 53) - 1));
  add("--cache", options.cache, "folder of downloaded data sets [XDG_CACHE_HOME/zeroloss]")
      ->type_name("FOLDER");
}

}  // namespace zeroloss::app
