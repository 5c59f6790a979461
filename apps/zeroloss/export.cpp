#include <fmt/format.h>

#include "command.hpp"
#include "output_file.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/present/predict.hpp"

namespace zeroloss::app {
namespace {

struct ExportArguments {
  std::string model, file;
};

void run_export(const ExportArguments& options, Session&) {
  const bool is_answer = is_standard_output(options.file);
  const std::string file = is_answer ? "/dev/stdout" : options.file;
  check_output(file, {model_file(options.model)});
  const Model model = open_model(options.model);
  make_folders_of(file);
  try {
    model.export_onnx(file);
  } catch (const ResourceError&) {
    if (is_answer && reader_gone()) return;
    throw;
  }
  const std::string text = export_text(file, model) + "\n" + next_text(after_export(file));
  is_answer ? tell(text) : answer(text);
}

}  // namespace

void add_export(Command& command, Session& session) {
  command.about("Write a network as ONNX, for other programs to run");
  auto& o = command.runs(run_export, session);
  command.option("model", o.model, "A .safetensors file, or a run folder that holds model.safetensors")
      .required();
  command
      .option("file", o.file,
              "Where to write, - for standard output; a file of that name is replaced, but none of a run")
      .required()
      .type_name("FILE.onnx");
  command.examples({"zeroloss export runs/first model.onnx",
                    "zeroloss export runs/exact/model.safetensors exact.onnx",
                    "zeroloss export runs/first runs/first/model.onnx"});
}

}  // namespace zeroloss::app
