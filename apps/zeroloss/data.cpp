#include "zeroloss/present/data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "data_options.hpp"
#include "model_options.hpp"
#include "output_file.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/models/models.hpp"
#include "zeroloss/sources/arrays.hpp"

namespace zeroloss::app {
namespace {

struct Arguments {
  std::string name;
  ReadOptions read;
  FetchOptions fetch;
  bool json = false;
};

void list(const Arguments& arguments, Session&) {
  const std::string& cache = arguments.read.cache;
  answer(arguments.json ? known_sets_json(cache) + "\n" : in_flags(known_sets_text(cache)));
}

void info(const Arguments& arguments, Session& session) {
  auto progress = session.progress();
  progress.stage("reading " + arguments.name);
  const Source source = open_source(arguments.name, arguments.read);
  const Dataset data = select(source, arguments.read);
  progress.stage("describing " + arguments.name);
  const Summary summary = summarize(data);
  const auto table = describe_columns(source, data, arguments.read);
  const Next next = after_summary(data, arguments.read, table);
  progress.finish();
  answer(arguments.json ? summary_json(data, summary, table, next) + "\n"
                        : in_flags(summary_text(data, summary, table)) + "\n" + next_text(next));
}

struct EncodeArguments {
  std::string model, source, out;
  ReadOptions read;
};

void encode(const EncodeArguments& o, Session& session) {
  const bool is_answer = is_standard_output(o.out);
  if (!is_answer) check_output(o.out, {model_file(o.model), o.source});
  auto progress = session.progress();
  const Model model = open_model(o.model);
  progress.stage("reading " + o.source);
  ReadOptions read = o.read;
  if (read.target.empty()) read.target = "none";  // rows without a target are rows too
  const Dataset data = select_for(model, open_source(o.source, read), read);
  if (is_answer) {
    write_answer(npy_bytes(data.X));
  } else {
    make_folders_of(o.out);
    write_file(o.out, npy_bytes(data.X));
  }
  const std::string text = in_flags(encoded_text(o.out, o.model, data));
  is_answer ? tell(text) : answer(text);
}

void get(const Arguments& arguments, Session& session) {
  const auto& sets = known_sets();
  const auto set = std::ranges::find(sets, arguments.name, &KnownSet::name);
  const std::string& cache = arguments.read.cache;
  Progress progress = session.progress();
  const bool was_there = is_cached(*set, cache);
  fetch(*set, cache, progress, arguments.fetch);
  answer(arguments.json ? fetched_json(*set, cache, !was_there) + "\n"
                        : fetched_text(*set, cache, !was_there));
}

void add_cache(const Command& command, Arguments& arguments) {
  command.option("--cache", arguments.read.cache, "folder of downloaded data sets [XDG_CACHE_HOME/zeroloss]")
      .type_name("FOLDER")
      .default_text("");
}

}  // namespace

void add_data(Command& command, Session& session) {
  command.about("List, inspect and download data sets");
  command.require_subcommand();
  const auto add = [&](const Command& part, const char* about, auto work) -> Arguments& {
    part.about(about);
    Arguments& arguments = part.runs(work, session);
    arguments.read.cache = session.cache;
    part.flag("--json", arguments.json, "print one JSON object [off]");
    return arguments;
  };

  const Command listed = command.subcommand("list");
  add_cache(listed, add(listed, "Show the known data sets and generators", list));

  const Command described = command.subcommand("info");
  Arguments& what =
      add(described, "Describe DATA: shape, columns, task, classes, ranges, duplicates, digest", info);
  described
      .option(
          "DATA", what.name,
          "a csv, npy, npz or idx file, a folder, - (standard input), or a name from `zeroloss data list`")
      .required();
  add_read_options(described, what.read);

  const Command encoded = command.subcommand("encode");
  encoded.about("Write the rows of DATA as the numbers that a model, and its ONNX file, takes");
  auto& rows = encoded.runs(encode, session);
  rows.read.cache = session.cache;
  encoded.option("MODEL", rows.model, "a run folder that holds model.safetensors, or a .safetensors file")
      .required();
  encoded.option("DATA", rows.source, "a table with the columns that the model was trained on, or other data")
      .required();
  encoded.option("--out", rows.out, "where to write them, float64, - for standard output")
      .type_name("FILE.npy")
      .required();
  add_read_options_of_model(encoded, rows.read);

  const Command wanted = command.subcommand("get");
  Arguments& which = add(wanted, "Download a data set into the cache and verify it", get);
  std::vector<std::string> names;
  for (const KnownSet& set : known_sets()) names.push_back(set.name);
  wanted.option("NAME", which.name, fmt::format("{}", fmt::join(names, ", "))).required().one_of(names);
  wanted.option("--mirror", which.fetch.mirror, "base URL tried before the usual ones [none]")
      .type_name("URL");
  add_cache(wanted, which);

  command.examples({"zeroloss data list", "zeroloss data info table.csv", "zeroloss data get mnist"});
  listed.examples({"zeroloss data list", "zeroloss data list --json", "zeroloss data list --cache data"});
  described.examples({"zeroloss data info table.csv --target price",
                      "zeroloss data info digits --classes 3,8",
                      "zeroloss data info sphere:n=100,d=20 --json"});
  encoded.examples({"zeroloss data encode runs/first new.csv --out X.npy",
                    "zeroloss data encode runs/first new.csv --unknown missing --out X.npy"});
  wanted.examples({"zeroloss data get mnist", "zeroloss data get cifar10 --cache data",
                   "zeroloss data get mnist --mirror https://example.org/mnist"});
}

}  // namespace zeroloss::app
