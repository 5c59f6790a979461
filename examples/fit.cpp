// Trains a network to zero loss, proves it, and writes the model for Python and ONNX Runtime.
#include <cstdio>
#include <zeroloss/network/model.hpp>
#include <zeroloss/train/fit.hpp>

int main() {
  const auto data = zeroloss::read_dataset("digits", {.classes = {"3", "8"}});
  zeroloss::FitOptions options;
  options.width = 256;
  options.optimizer = "gauss_newton";
  options.center = true;
  const auto run = zeroloss::fit(data, options);
  std::printf("%s\n", run.conclusion.c_str());
  zeroloss::save_model("digits.safetensors", run.network);
  zeroloss::export_onnx("digits.onnx", run.network);
  return run.certificate.holds ? 0 : 1;
}
