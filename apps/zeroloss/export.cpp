#include <fmt/format.h>

#include "command.hpp"
#include "zeroloss/models/models.hpp"

namespace zeroloss::app {
namespace {

struct Options {
  std::string model, file;
};

void run(const Options& options, Session&) {
  const Model model = open_model(options.model);
  model.export_onnx(options.file);
  fmt::print("{}: {}\n", options.file, model.signature);
}

}  // namespace

void add_export(Command& command, Session& session) {
  command.about("Write a network as ONNX, for other programs to run");
  auto& o = command.runs(run, session);
  command.option("model", o.model, "A .safetensors file, or a run folder that holds model.safetensors")
      .required();
  command.option("file", o.file, "Where to write; a file of that name is replaced")
      .required()
      .type_name("FILE.onnx");
}

}  // namespace zeroloss::app
