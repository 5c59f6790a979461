#include "conv/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "base/choices.hpp"
#include "base/field_text.hpp"
#include "zeroloss/base/digest.hpp"

namespace zeroloss {
using namespace internal;
namespace {

void require(bool holds, const char* name, const char* range, const auto& found) {
  if (!holds) throw std::invalid_argument(fmt::format("conv: {} must be {}; got {}", name, range, found));
}

}  // namespace

ConvOptions conv_recipe(const std::string& name) {
  ConvOptions options;
  if (name == "paper") return options;
  if (name == "modern" || name == "small") {
    options.steps = 0;
    options.nesterov = true;
    options.weight_decay = 5e-4;
    options.label_smoothing = 0.1;
    options.clip_norm = 1;
  }
  if (name == "modern") {
    options.batch = 256;
    options.epochs = 120;
    options.learning_rate = 0.1;
    options.schedule = "cosine";
    options.warm_up = 0.05;
    options.average = 0.999;
    options.cutout = 8;
    return options;
  }
  if (name == "small") {
    options.architecture = "small";
    options.depth = 2;
    options.start = "whitened";
    options.weight_standardization = true;
    options.epochs = 18;
    options.learning_rate = 0.2;
    options.schedule = "linear";
    options.warm_up = 0.2;
    options.early_size = 24;
    options.early_part = 0.6;
    return options;
  }
  if (name == "imagenet") {
    options.architecture = "imagenet34";
    options.batch = 256;
    options.steps = 700'000;
    options.learning_rate = 0.1;
    options.schedule = "exponential";
    options.crop = "resized";
    return options;
  }
  throw std::invalid_argument(
      fmt::format("conv: recipe must be one of paper, modern, small, imagenet; got {}", name));
}

void internal::check(const ConvOptions& o) {
  check_choices("conv", o);
  require(o.depth >= 1, "depth", ">= 1", o.depth);
  require(o.width >= 4 && o.width % 4 == 0, "width", "a positive multiple of 4", o.width);
  require(o.process.world >= 1, "world", ">= 1", o.process.world);
  require(o.process.rank >= 0 && o.process.rank < o.process.world, "rank", "in [0, world)", o.process.rank);
  require(o.process.port >= 0 && o.process.port < 65536, "port", "in [0, 65535]", o.process.port);
  require(o.batch >= 1, "batch", ">= 1", o.batch);
  require(o.batch % o.process.world == 0, "batch",
          fmt::format("a multiple of the {} processes", o.process.world).c_str(), o.batch);
  require(o.steps >= 0, "steps", ">= 0", o.steps);
  if (o.steps == 0)
    require(o.epochs > 0 && std::isfinite(o.epochs), "epochs", "> 0 where steps is 0", o.epochs);
  require(o.learning_rate > 0 && std::isfinite(o.learning_rate), "learning_rate", "> 0", o.learning_rate);
  require(std::ranges::is_sorted(o.drops) &&
              std::ranges::all_of(o.drops, [](double at) { return at > 0 && at < 1; }),
          "drops", "fractions in (0, 1), ascending", fmt::format("{}", fmt::join(o.drops, ", ")));
  require(o.drop_factor > 1, "drop_factor", "> 1", o.drop_factor);
  require(o.decay > 0 && o.decay < 1, "decay", "in (0, 1)", o.decay);
  require(o.warm_up >= 0 && o.warm_up < 1, "warm_up", "in [0, 1)", o.warm_up);
  require(o.momentum >= 0 && o.momentum < 1, "momentum", "in [0, 1)", o.momentum);
  require(o.weight_decay >= 0, "weight_decay", ">= 0", o.weight_decay);
  require(o.label_smoothing >= 0 && o.label_smoothing < 1, "label_smoothing", "in [0, 1)", o.label_smoothing);
  require(o.clip_norm >= 0, "clip_norm", ">= 0", o.clip_norm);
  require(o.average >= 0 && o.average < 1, "average", "in [0, 1)", o.average);
  require(o.cutout >= 0, "cutout", ">= 0", o.cutout);
  require(o.early_size >= 0, "early_size", ">= 0", o.early_size);
  require(o.early_part >= 0 && o.early_part <= 1, "early_part", "in [0, 1]", o.early_part);
  require(o.evaluate_every >= 0, "evaluate_every", ">= 0", o.evaluate_every);
  require(o.seed < (std::uint64_t{1} << 53), "seed", "below 2^53", o.seed);
  require(o.checkpoint_every_s >= 0, "checkpoint_every_s", ">= 0", o.checkpoint_every_s);
  require(!o.resume || !o.checkpoint.empty(), "resume", "off without a checkpoint", o.resume);
}

Index internal::total_steps(const ConvOptions& o, Index n) {
  if (o.steps > 0) return o.steps;
  const double steps = std::ceil(o.epochs * static_cast<double>(n) / static_cast<double>(o.batch));
  require(steps < 1e15, "epochs", "fewer", o.epochs);
  return static_cast<Index>(steps);
}

double learning_rate(const ConvOptions& o, Index steps, Index n, Index t) {
  const double warm = o.warm_up * static_cast<double>(steps), at = static_cast<double>(t);
  if (at < warm) return o.learning_rate * (at + 1) / (warm + 1);
  const double fraction = (at - warm) / (static_cast<double>(steps) - warm);  // of the rest that is done
  if (o.schedule == "cosine") return o.learning_rate * (1 + std::cos(std::numbers::pi * fraction)) / 2;
  if (o.schedule == "linear") return o.learning_rate * (1 - fraction);
  if (o.schedule == "exponential") {
    const double epochs = at * static_cast<double>(o.batch) / static_cast<double>(n);
    return o.learning_rate * std::pow(o.decay, std::floor(epochs / 2));
  }
  double rate = o.learning_rate;
  if (o.schedule == "steps")
    for (const double drop : o.drops)
      if (at >= std::round(drop * static_cast<double>(steps))) rate /= o.drop_factor;
  return rate;
}

Index early_size(const ConvOptions& o, Index steps, Index t) {
  return static_cast<double>(t) < o.early_part * static_cast<double>(steps) ? o.early_size : 0;
}

ConvArchitecture architecture_of(const ConvOptions& o, Index classes) {
  if (o.architecture == "imagenet34") return imagenet34_architecture(classes);
  return (o.architecture == "small" ? small_architecture : cifar_architecture)(classes, o.depth, o.width);
}

Augment internal::augment_of(const ConvOptions& o, Index image_size) {
  Augment augment;
  augment.size = image_size;
  augment.crop = o.crop;
  augment.flip = o.flip;
  augment.cutout = o.cutout;
  return augment;
}

/// Which images of the source there are, in which order and with which labels: the seed and options decide
/// that, and the reading of the source.
std::string digest_of_selection(const ImageSet& images) {
  Sha256 digest;
  digest.update(images.records.data(), images.records.size() * sizeof(Index));
  digest.update(images.labels.data(), images.labels.size() * sizeof(std::int64_t));
  return digest.hex();
}

Metadata internal::identity(const ConvOptions& o, const ImageSet& images, Index steps) {
  Metadata parts{{"images", images.digest},
                 {"n", text_of(images.n())},
                 {"classes", text_of(images.class_names, ", ")},
                 {"labels", images.label_treatment},
                 {"selection", digest_of_selection(images)}};
  fields(o, [&]<class Value>(const Field& field, const Value& value) {
    if constexpr (std::is_same_v<Value, std::vector<double>>)
      parts[field.name] = text_of(value, ", ");
    else if (field.affects_run)
      parts[field.name] = text_of(value);
  });
  parts["steps"] = text_of(steps);
  return parts;
}

std::string name(ConvStatus status) {
  constexpr const char* kNames[] = {"memorized", "finished", "diverged", "interrupted"};
  return kNames[static_cast<int>(status)];
}

}  // namespace zeroloss
