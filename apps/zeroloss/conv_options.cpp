#include "conv_options.hpp"

#include <filesystem>
#include <thread>

namespace zeroloss::app {

void add_image_options(const Command& command, ImageOptions& o) {
  const Command data = command.group("Data");
  data.option("--n", o.n, "keep the first n images; 0 = all").type_name("INT");
  data.flag("--shuffle", o.shuffle, "keep a random subset of n images instead of the first [off]");
  data.option("--classes", o.classes,
              "keep only these classes, by name: a comma separated list of two or more [all]")
      .type_name("A,B,...")
      .separated_by(',')
      .repeated();
  data.option("--labels", o.labels,
              "given, random, or noise:p: each label replaced by another with probability p in [0, 1]")
      .type_name("LABELS");
  data.option("--corrupt", o.corrupt, "what to do about files that cannot be decoded: refuse, or skip them")
      .one_of({"refuse", "skip"});
  data.option(
          "--cache", o.cache,
          "folder of downloaded data sets and of what is known of image folders [XDG_CACHE_HOME/zeroloss]")
      .type_name("FOLDER")
      .default_text("");
}

void add_device_options(const Command& command, ConvDevice& o) {
  const Command device = command.group("Device");
  device.option("--device", o.device, "cpu, cuda, cuda:N, or auto: a GPU where there is one")
      .type_name("DEVICE");
  device
      .option("--precision", o.precision,
              "of convolutions: float32, bfloat16, or auto: bfloat16 on a GPU and on processors with "
              "instructions for it")
      .one_of({"auto", "float32", "bfloat16"});
  device.option("--threads", o.threads, "of the processor; 0 = all");
  device.flag("--mirror", o.mirror,
              "judge every image together with its mirror image, in twice the time [off]");
}

ImageOptions with_threads(ImageOptions images, const ConvDevice& device) {
  images.threads =
      device.threads > 0 ? device.threads : static_cast<int>(std::thread::hardware_concurrency());
  return images;
}

ConvNetwork read_conv_network(const std::string& model) {
  namespace fs = std::filesystem;
  return load_conv_network(fs::is_directory(model) ? fs::path(model) / "model.safetensors" : fs::path(model));
}

}  // namespace zeroloss::app
