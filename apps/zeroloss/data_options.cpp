#include "data_options.hpp"

namespace zeroloss::app {

void add_read_options(const Command& command, ReadOptions& o, bool n_and_d) {
  const Command data = command.group("Data");
  data.option("--target", o.target,
              "csv: target column, a name or a 0-based index; none = all columns are features [label, "
              "target, class "
              "or y if there is one]")
      .type_name("NAME|INDEX");
  data.option("--task", o.task, "auto (text or few integers are classes), regression or classification")
      .type_name("TASK")
      .one_of({"auto", "regression", "classification"});
  data.option("--split", o.split, "train or test, where DATA has both")
      .type_name("SPLIT")
      .one_of({"train", "test"});
  if (n_and_d) {
    data.option("--n", o.n, "keep the first n points; 0 = all").type_name("INT");
    data.option("--d", o.d, "project onto a random subspace of d dimensions; 0 = keep the features")
        .type_name("INT");
  }
  data.flag("--shuffle", o.shuffle,
            "keep a random subset of n points, in random order, instead of the first [off]");
  data.option("--classes", o.classes,
              "keep only these classes, by name: a comma separated list of two or more [all]")
      .type_name("A,B,...")
      .separated_by(',')
      .repeated();
  data.option("--labels", o.labels,
              "given, random, or noise:p: each label replaced by another with probability p in [0, 1]")
      .type_name("LABELS");
  data.option("--seed", o.seed,
              "of --shuffle, --d, --labels and generated data: an integer from 0 to 2^53 - 1")
      .type_name("INT")
      .between(0, kMostSeed);
  data.option("--cache", o.cache, "folder of downloaded data sets [XDG_CACHE_HOME/zeroloss]")
      .type_name("FOLDER")
      .default_text("");
}

}  // namespace zeroloss::app
