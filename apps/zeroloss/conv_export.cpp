#include <fmt/format.h>

#include <memory>

#include "conv_options.hpp"

namespace zeroloss::app {

void add_conv_export(CLI::App& app, Session&) {
  struct Options {
    std::string model, file;
  };
  auto* command = app.add_subcommand("export", "Write a network as ONNX, its preprocessing inside");
  auto options = std::make_shared<Options>();
  command
      ->add_option("model", options->model,
                   "A .safetensors file, or a run folder that holds model.safetensors")
      ->required();
  command->add_option("file", options->file, "Where to write; a file of that name is replaced")
      ->required()
      ->type_name("FILE.onnx");
  command->callback([options] {
    const ConvNetwork network = read_conv_network(options->model);
    export_onnx(options->file, network);
    const Index size = network.architecture.image_size;
    fmt::print("{}: images [batch, {}, {}, 3] uint8 RGB -> logits [batch, {}] float32, label [batch] int64\n",
               options->file, size, size, network.architecture.classes);
  });
}

}  // namespace zeroloss::app
