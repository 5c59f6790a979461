#include "conv_options.hpp"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

namespace zeroloss::app {

void add_image_options(CLI::App& app, ImageOptions& options) {
  const auto add = [&](const char* flag, auto& field, const char* help) {
    return app.add_option(flag, field, help)->group("Data");
  };
  add("--n", options.n, "keep the first n images; 0 = all")->type_name("INT")->capture_default_str();
  app.add_flag("--shuffle", options.shuffle, "keep a random subset of n images instead of the first [off]")
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
  add("--corrupt", options.corrupt, "what to do about files that cannot be decoded: refuse, or skip them")
      ->capture_default_str()
      ->check(CLI::IsMember({"refuse", "skip"}));
  add("--cache", options.cache,
      "folder of downloaded data sets and of what is known of image folders [XDG_CACHE_HOME/zeroloss]")
      ->type_name("FOLDER");
}

void add_device_options(CLI::App& app, ConvDevice& device) {
  const auto add = [&](const char* flag, auto& field, const char* help) {
    return app.add_option(flag, field, help)->group("Device")->capture_default_str();
  };
  add("--device", device.device, "cpu, cuda, cuda:N, or auto: a GPU where there is one")->type_name("DEVICE");
  add("--precision", device.precision,
      "of convolutions: float32, bfloat16, or auto: bfloat16 on a GPU, float32 elsewhere")
      ->check(CLI::IsMember({"auto", "float32", "bfloat16"}));
  add("--threads", device.threads, "of the processor; 0 = all");
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

nlohmann::ordered_json images_json(const ImageSet& images, const ImageOptions& o) {
  return {{"name", images.name}, {"digest", images.digest}, {"n", images.n()},
          {"split", o.split},    {"shuffle", o.shuffle},    {"classes", images.class_names},
          {"labels", o.labels},  {"seed", o.seed},          {"corrupt", images.corrupt}};
}

}  // namespace zeroloss::app
