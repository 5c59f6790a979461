#include "zeroloss/conv/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "conv/checkpoint.hpp"
#include "conv/trainer.hpp"
#include "torch/device.hpp"
#include "torch/guarded.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/conv/whiten.hpp"

namespace zeroloss {
using namespace internal;
namespace {

void check_images(const ImageSet& images, const ImageSet& test) {
  if (images.n() == 0) throw DataError(images.name + ": no images to train on");
  if (images.classes() < 2)
    throw DataError(fmt::format("{}: {} class; training needs two or more", images.name, images.classes()));
  if (test.n() > 0 && test.class_names != images.class_names)
    throw DataError(fmt::format("{}: its classes are others than those of {}", test.name, images.name));
}

ConvNetwork start_network(const ImageSet& images, const ConvOptions& options) {
  ConvNetwork network = draw_network(architecture_of(options, images.classes()), options.seed, options.start);
  if (options.start == "whitened") whiten_stem(network, images);
  return network;
}

/// One run, from its options to its result. Rank 0 alone writes and reports; all ranks do the same steps.
class Run {
 public:
  Run(const ImageSet& images, const ImageSet& test, const ConvOptions& options, Progress& progress,
      const ConvObserver& observer)
      : images_(images),
        test_(test),
        options_(options),
        progress_(progress),
        observer_(observer),
        compute_(compute_of(options.device, options.process.local_rank, options.deterministic)),
        steps_(total_steps(options, images.n())),
        identity_(identity(options, images, steps_)),
        group_(join_group(options.process, compute_)),
        network_(start_network(images, options)),
        trainer_(network_, options, compute_, group_.get()) {
    network_.class_names = images.class_names;
    if (options.early_size > 0) {
      ConvArchitecture early = network_.architecture;
      early.image_size = options.early_size;
      layers(early);  // throws where strides do not divide the size
    }
  }

  ConvResult operator()() {
    if (options_.resume && (group_ || std::filesystem::exists(options_.checkpoint))) restore();
    ConvResult r;
    r.status = ConvStatus::interrupted;
    try {
      r.status = train();
      if (r.status != ConvStatus::interrupted) evaluate_all(r);
    } catch (const Interrupted&) {  // while images were evaluated: that is done when the run goes on
    }
    if (r.status == ConvStatus::interrupted) save();
    return complete(std::move(r));
  }

 private:
  /// Threads that prepare images: a GPU needs many; a processor spends 10,000 times longer on computing.
  int loaders() const {
    const int threads = options_.device.threads > 0 ? options_.device.threads
                                                    : static_cast<int>(std::thread::hardware_concurrency());
    return std::max(1, compute_.device.is_cuda() || !images_.in_memory() ? threads : 1);
  }
  bool first() const { return options_.process.rank == 0; }
  double seconds() const { return seconds_before_ + seconds_since(began_); }
  /// Evaluation is stopped halfway only where no other process waits for this one's share.
  Progress quiet() const { return group_ ? Progress() : progress_.silent(); }

  void restore() {
    ConvCheckpoint c = read_checkpoint(options_.checkpoint, identity_);
    const auto expected = trainer_.state();
    if (!std::ranges::equal(c.numbers, expected, [](const auto& a, const auto& b) {
          return a.first == b.first && a.second.size() == b.second.size();
        }))
      throw DataError(options_.checkpoint.string() + ": damaged: its tensors are not those of such a run");
    trainer_.restore(c.numbers, c.step);
    totals_ = c.totals;
    history_ = std::move(c.history);
    seconds_before_ = c.seconds;
  }

  void save() {
    saved_ = Clock::now();
    if (!first() || options_.checkpoint.empty()) return;
    write_checkpoint(options_.checkpoint, {trainer_.steps(), seconds(), totals_, history_, trainer_.state()},
                     identity_);
  }

  bool just_recorded() const { return !history_.empty() && history_.back().step == trainer_.steps(); }

  bool record_due() const {
    const Index step = trainer_.steps(), n = images_.n(), batch = options_.batch;
    if (step == 0 || just_recorded()) return false;
    if (step == steps_) return true;
    if (options_.evaluate_every > 0) return step % options_.evaluate_every == 0;
    return step * batch / n > (step - 1) * batch / n;
  }

  ConvStatus train() {
    // A GPU is asked how far it is only now and then: asking makes it wait.
    const Index pulse = compute_.device.is_cuda() ? 20 : 1;
    Batches batches(images_, augment_of(options_, network_.architecture.image_size), options_.batch,
                    options_.seed, trainer_.steps(), loaders(), options_.process.rank,
                    options_.process.world);
    show([&] { progress_.stage("training", static_cast<double>(steps_ - trainer_.steps())); });
    Clock::time_point start = Clock::now();
    bool cancelled = !group_ && progress_.cancelled();
    while (true) {
      if (record_due()) record();
      if (just_recorded()) {  // by a run that was interrupted then, too
        if (options_.stop == "memorized" && memorized()) return ConvStatus::memorized;
        start = Clock::now();
      }
      const Index step = trainer_.steps();
      if (step == steps_) return ConvStatus::finished;
      if (cancelled) return ConvStatus::interrupted;
      trainer_.step(batches.next(), learning_rate(options_, steps_, images_.n(), step),
                    early_size(options_, steps_, step));
      if (trainer_.steps() % pulse != 0 && !record_due()) continue;
      cancelled = progress_.cancelled();
      const StepSums sums = trainer_.take_sums(cancelled);
      totals_.loss += sums.loss;
      totals_.wrong += sums.wrong;
      totals_.images += sums.images;
      totals_.gradient_norm += sums.gradient_norm;
      totals_.steps += sums.steps;
      totals_.train_s += seconds_since(start);
      start = Clock::now();
      if (!std::isfinite(sums.loss)) return ConvStatus::diverged;
      tell(sums);
      if (seconds_since(saved_) >= options_.checkpoint_every_s) {
        save();
        start = Clock::now();
      }
    }
  }

  /// Processes that train together stop together, when take_sums() says so.
  template <class Report>
  void show(Report report) {
    try {
      report();
    } catch (const Interrupted&) {
      if (!group_) throw;
    }
  }

  void tell(const StepSums& sums) {
    show([&] {
      progress_.note(fmt::format("loss {:.4f}  error {:.2f} %  {:.4g} images/s",
                                 totals_.loss / totals_.images, 100 * totals_.wrong / totals_.images,
                                 totals_.images / totals_.train_s));
      progress_.advance(sums.steps);
    });
  }

  void record() {
    const Index step = trainer_.steps();
    ConvRecord r;
    r.step = step;
    r.epoch =
        static_cast<double>(step) * static_cast<double>(options_.batch) / static_cast<double>(images_.n());
    r.learning_rate = learning_rate(options_, steps_, images_.n(), step - 1);
    r.train_loss = totals_.loss / totals_.images;
    r.train_error = totals_.wrong / totals_.images;
    r.images_per_s = totals_.images / totals_.train_s;
    r.gradient_norm = totals_.gradient_norm / totals_.steps;
    const std::vector<float> weights = trainer_.weights();
    r.weight_norm = std::sqrt(std::accumulate(weights.begin(), weights.end(), 0.0, [](double sum, float w) {
      return sum + static_cast<double>(w) * static_cast<double>(w);
    }));
    r.block_norms = block_norms(network_.architecture, weights);
    learned_.reset();
    tested_.reset();
    if (test_.n() > 0) r.test_error = (tested_ = evaluated(test_))->top1_error;
    totals_ = {};
    history_.push_back(std::move(r));
    if (first() && observer_) observer_(history_);
  }

  ConvEvaluation evaluated(const ImageSet& images) {
    Progress progress = quiet();
    return trainer_.evaluate(images, progress);
  }

  /// Looked at closely only where augmented images are nearly all right.
  bool memorized() {
    return history_.back().train_error < 0.01 && (learned_ = evaluated(images_))->wrong == 0;
  }

  void evaluate_all(ConvResult& r) {
    if (r.status == ConvStatus::diverged) return;
    const ConvStatus status = std::exchange(r.status, ConvStatus::interrupted);
    show([&] { progress_.stage("evaluating"); });
    r.train = learned_ ? learned_ : evaluated(images_);
    if (test_.n() > 0) r.test = tested_ ? tested_ : evaluated(test_);
    r.status = r.train->wrong == 0 ? ConvStatus::memorized : status;
  }

  ConvResult complete(ConvResult r) {
    progress_.finish();
    r.n = images_.n();
    r.n_test = test_.n();
    r.steps = trainer_.steps();
    r.planned_steps = steps_;
    r.device = device_name(compute_);
    r.precision = precision_name(compute_);
    r.libtorch = libtorch();
    r.processes = options_.process.world;
    r.network = std::move(network_);
    r.network.weights = trainer_.kept();
    r.weights = std::ssize(r.network.weights);
    r.history = std::move(history_);
    r.seconds = seconds();
    r.conclusion = conclusion(r);
    return r;
  }

  static std::string conclusion(const ConvResult& r) {
    if (r.status == ConvStatus::diverged)
      return fmt::format("training diverged before step {}; try a smaller learning rate",
                         with_commas(r.steps));
    if (r.status == ConvStatus::interrupted)
      return fmt::format("interrupted after {} steps", with_commas(r.steps));
    const std::string memory =
        r.train->wrong == 0
            ? fmt::format("all {} training images are right", with_commas(r.n))
            : fmt::format("{} of {} training images are wrong ({:.2f} %)", with_commas(r.train->wrong),
                          with_commas(r.n), 100 * r.train->top1_error);
    return r.test ? fmt::format("{:.2f} % test error; {}", 100 * r.test->top1_error, memory) : memory;
  }

  const ImageSet& images_;
  const ImageSet& test_;
  const ConvOptions& options_;
  Progress& progress_;
  const ConvObserver& observer_;
  Compute compute_;
  Index steps_;
  Metadata identity_;
  std::unique_ptr<Group> group_;
  ConvNetwork network_;
  ConvTrainer trainer_;
  Totals totals_;
  std::vector<ConvRecord> history_;
  std::optional<ConvEvaluation> learned_, tested_;  // of the weights of the last record
  double seconds_before_ = 0;
  Clock::time_point began_ = Clock::now(), saved_ = began_;
};

}  // namespace

ConvResult train(const ImageSet& images, const ImageSet& test, const ConvOptions& options, Progress& progress,
                 const ConvObserver& observer) {
  check(options);
  check_images(images, test);
  ConvOptions settings = options;
  if (settings.device.threads == 0) {
    const int all = static_cast<int>(std::thread::hardware_concurrency());
    settings.device.threads = std::max(1, all / std::max(1, options.process.local_world));
  }
  return guarded("conv", "try a smaller batch",
                 [&] { return Run(images, test, settings, progress, observer)(); });
}

Logits predict(const ConvNetwork& network, const ImageSet& images, const ConvDevice& device,
               Progress& progress, Index batch) {
  if (batch < 1) throw std::invalid_argument(fmt::format("predict: batch must be >= 1; got {}", batch));
  const std::vector<ConvLayer> all = layers(network.architecture);
  if (std::ssize(network.weights) != weights(network.architecture) ||
      std::ssize(network.projection) != network.features() * network.architecture.classes)
    throw std::invalid_argument("predict: numbers whose count does not fit the architecture");
  return guarded("predict", "try a smaller batch", [&] {
    const Compute compute = compute_of(device);
    const torch::Tensor flat = to_device(network.weights, compute.device).to(compute.type);
    const torch::Tensor projection =
        to_device(network.projection, compute.device).view({network.features(), -1});
    progress.stage("predicting", static_cast<double>(images.n()));
    Logits logits(images.n(), projection.size(1));
    predict_rows(all, views(flat, all), projection, images, 0, images.n(), compute, progress, batch,
                 [&](Index first, const Logits& rows) { logits.middleRows(first, rows.rows()) = rows; });
    progress.finish();
    return logits;
  });
}

std::string libtorch() { return libtorch_version(); }

}  // namespace zeroloss
