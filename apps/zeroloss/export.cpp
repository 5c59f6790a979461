#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "zeroloss/conv/resnet.hpp"
#include "zeroloss/memorize/memorizer.hpp"
#include "zeroloss/network/model.hpp"

namespace zeroloss::app {
namespace {

struct Options {
  std::string model, file;
};

void run(const Options& options, Session&) {
  std::string source = options.model;
  if (std::filesystem::is_directory(source)) source = std::filesystem::path(source) / "model.safetensors";
  const Metadata metadata = read_metadata(source);
  const auto write = [&](const auto& network, Index outputs) {
    export_onnx(options.file, network, metadata);
    fmt::print("{}: x [batch, {}] {} -> y [batch, {}]{}\n", options.file, network.d(), network.precision,
               outputs, network.task == Task::classification ? ", label [batch] int64" : "");
  };
  if (const auto kind = metadata.find("kind"); kind != metadata.end() && kind->second == "memorizer") {
    const Memorizer network = load_memorizer(source);
    write(network, network.outputs());
  } else if (kind != metadata.end() && kind->second == "conv_resnet") {
    const ConvNetwork network = load_conv_network(source);
    export_onnx(options.file, network, metadata);
    const Index size = network.architecture.image_size;
    fmt::print("{}: images [batch, {}, {}, 3] uint8 RGB -> logits [batch, {}] float32, label [batch] int64\n",
               options.file, size, size, network.architecture.classes);
  } else {
    const Network network = load_model(source);
    write(network, std::ssize(network.outputs));
  }
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
