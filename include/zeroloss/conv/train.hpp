#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/conv/augment.hpp"
#include "zeroloss/conv/evaluate.hpp"
#include "zeroloss/conv/resnet.hpp"
#include "zeroloss/images/images.hpp"

/// Training of all-convolutional residual networks by stochastic gradient descent with momentum,
///
///     g = mean gradient of the batch + weight_decay w,   v = momentum v + g,   w = w - rate v
///
/// on one processor, one GPU, or several processes. Needs LibTorch.
namespace zeroloss {

/// One of `world` processes that train together, each on its share of every batch.
struct ConvProcess {
  int rank = 0, world = 1;
  int local_rank = 0;                 ///< among those of this machine: which GPU
  int local_world = 1;                ///< how many share this machine's processors
  std::string address = "127.0.0.1";  ///< of rank 0
  int port = 29500;
  bool store_runs = false;  ///< whether a launcher holds the store at address:port; else rank 0 does
};

/// The defaults are the recipe of [HM, section 4.1].
struct ConvOptions {
  std::string architecture = "cifar";  ///< cifar | small | imagenet34, see resnet.hpp
  Index depth = 9;                     ///< cifar, small: residual blocks a stage, >= 1
  Index width = 64;                    ///< cifar, small: channels of the first stage, a multiple of 4
  std::string start = "paper";         ///< paper | scaled | whitened: where weights start, see layers() and
                                       ///< whiten_stem()

  Index batch = 128;               ///< images of a step, over all processes; >= 1, a multiple of their number
  Index steps = 60'000;            ///< >= 1; 0: `epochs` says
  double epochs = 0;               ///< > 0 where steps = 0: passes over the images, rounded up to whole steps
  double learning_rate = 0.05;     ///< > 0, the largest
  std::string schedule = "steps";  ///< steps: divided by `drop_factor` at `drops` | cosine: to 0 | linear: to
                                   ///< 0 | exponential: times `decay` every two epochs [HM, 4.2] | constant
  std::vector<double> drops = {0.5, 5.0 / 6};  ///< fractions of all steps, in (0, 1), ascending
  double drop_factor = 10;                     ///< > 1
  double decay = 0.94;                         ///< in (0, 1)
  double warm_up = 0;          ///< fraction of all steps, in [0, 1), in which the rate grows linearly from 0
  double momentum = 0.9;       ///< in [0, 1)
  bool nesterov = false;       ///< w = w - rate (g + momentum v)
  double weight_decay = 1e-4;  ///< >= 0
  double label_smoothing = 0;  ///< in [0, 1): targets are (1 - s) times the label's unit vector + s/classes
  /// Kernels of blocks are trained as g (v - mean v) / ||v - mean v|| [Brock et al. 2021], see theory 12.
  bool weight_standardization = false;
  double clip_norm = 0;  ///< > 0: gradients longer than this are shortened to it; 0 = off
  /// In [0, 1): the network kept is the running mean of the weights, of this decay; 0 = off: the last
  /// weights.
  double average = 0;

  std::string crop = "pad";  ///< pad | resized | none, see Augment
  bool flip = true;          ///< mirrored with probability 1/2
  Index cutout = 0;          ///< side of a square set to 0, in pixels; 0 = none
  Index early_size = 0;      ///< side to which the network's images are shrunk at first, a multiple of all
                             ///< strides together; 0 = never
  double early_part = 0.5;   ///< in [0, 1]: fraction of all steps in which they are

  std::string stop = "schedule";  ///< schedule | memorized: once every training image is right, looked
                                  ///< at where fewer than 1 % of the augmented ones were wrong
  Index evaluate_every = 0;       ///< steps between evaluations on test images, >= 1; 0 = each epoch
  std::uint64_t seed = 0;         ///< of weights, order and augmentation; [0, 2^53)
  bool deterministic = false;     ///< on a GPU: the same bits in every run, slower. A processor always is
  ConvDevice device;

  std::filesystem::path checkpoint;  ///< file for what a resumed run needs; empty = none
  double checkpoint_every_s = 60;    ///< >= 0
  bool resume = false;  ///< go on from `checkpoint`; a single process starts anew if it is not there yet
  ConvProcess process;
};
template <Is<ConvOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"architecture",
              "cifar (32 x 32 images), small (the same for a processor: every stage halves the image) or "
              "imagenet34 (224 x 224)"}
            .under("Network")
            .of("cifar|small|imagenet34"),
        o.architecture);
  visit(Field{"depth", "cifar, small: residual blocks a stage, >= 1"}.under("Network"), o.depth);
  visit(Field{"width", "cifar, small: channels of the first stage, a multiple of 4"}.under("Network"),
        o.width);
  visit(Field{"start",
              "paper (blocks next to 0), scaled (He et al., blocks divided by their number) or whitened "
              "(scaled; the stem whitens patches and is not trained)"}
            .under("Network")
            .of("paper|scaled|whitened"),
        o.start);
  visit(Field{"batch", "images of a step, over all processes"}.under("Training"), o.batch);
  visit(Field{"steps", "of the whole schedule; 0 = as many as `epochs` say"}.under("Training"), o.steps);
  visit(Field{"epochs", "passes over the images, in place of `steps`"}.under("Training").apart(), o.epochs);
  visit(Field{"learning_rate", "the largest, > 0"}.under("Training"), o.learning_rate);
  visit(Field{"schedule",
              "steps (divided at `drops`), cosine or linear (to 0), exponential (times `decay` every two "
              "epochs) or constant"}
            .under("Training")
            .of("steps|cosine|linear|exponential|constant"),
        o.schedule);
  visit(Field{"drops", "where the learning rate is divided: fractions of all steps"}.under("Training"),
        o.drops);
  visit(Field{"drop_factor", "by what it is divided, > 1"}.under("Training"), o.drop_factor);
  visit(Field{"decay", "of the exponential schedule, in (0, 1)"}.under("Training"), o.decay);
  visit(Field{"warm_up", "fraction of all steps in which the rate grows from 0, in [0, 1)"}.under("Training"),
        o.warm_up);
  visit(Field{"momentum", "in [0, 1)"}.under("Training"), o.momentum);
  visit(Field{"nesterov", "true: Nesterov's momentum"}.under("Training"), o.nesterov);
  visit(Field{"weight_decay", ">= 0"}.under("Training"), o.weight_decay);
  visit(Field{"label_smoothing", "in [0, 1)"}.under("Training"), o.label_smoothing);
  visit(Field{"weight_standardization",
              "true: kernels of blocks are trained as a gain times a centred direction"}
            .under("Training"),
        o.weight_standardization);
  visit(Field{"clip_norm", "longest gradient; 0 = any"}.under("Training"), o.clip_norm);
  visit(
      Field{"average", "decay of the mean weights that are kept, in [0, 1); 0 = the last"}.under("Training"),
      o.average);
  visit(Field{"crop", "pad (by 4 pixels, then a random crop), resized (a random part), or none"}
            .under("Augmentation")
            .of("pad|resized|none"),
        o.crop);
  visit(Field{"flip", "true: mirror half of the images, at random"}.under("Augmentation"), o.flip);
  visit(Field{"cutout", "side of a square set to 0, in pixels; 0 = none"}.under("Augmentation"), o.cutout);
  visit(Field{"early_size",
              "side to which images are shrunk in the first steps, which then are cheaper; 0 = never"}
            .under("Augmentation"),
        o.early_size);
  visit(Field{"early_part", "fraction of all steps in which they are, in [0, 1]"}.under("Augmentation"),
        o.early_part);
  visit(Field{"stop",
              "schedule, or memorized: once every training image is right, looked at where fewer than 1 % of "
              "the augmented ones were wrong"}
            .under("Stopping and checking")
            .of("schedule|memorized")
            .aside(),
        o.stop);
  visit(Field{"evaluate_every", "steps between rows of metrics.csv; 0 = an epoch"}
            .under("Stopping and checking")
            .aside(),
        o.evaluate_every);
  visit(Field{"deterministic", "true: on a GPU the same bits in every run, slower"}.under("Device").aside(),
        o.deterministic);
  visit(Field{"seed", "of all that is random: an integer from 0 to 2^53 - 1"}, o.seed);
  visit(Field{"checkpoint"}.apart(), o.checkpoint);
  visit(Field{"checkpoint_every_s", "Seconds between checkpoints"}.under("Options").apart(),
        o.checkpoint_every_s);
  visit(Field{"resume", "Go on with an interrupted run"}.apart(), o.resume);
}

/// The network that the options describe.
ConvArchitecture architecture_of(const ConvOptions& options, Index classes);

/// paper: the defaults. modern: a shorter schedule with warm-up, cosine decay, Nesterov momentum, label
/// smoothing, cutout and averaged weights. small: for two cores and half an hour. imagenet: [HM,
/// section 4.2]. Throws std::invalid_argument for another name.
ConvOptions conv_recipe(const std::string& name);

/// The learning rate of step t, 0 <= t < steps; n images make an epoch.
double learning_rate(const ConvOptions& options, Index steps, Index n, Index t);

/// The side of the images of step t, 0 <= t < steps, where it is not that of the network's; else 0.
Index early_size(const ConvOptions& options, Index steps, Index t);

/// A row of metrics.csv. Training numbers are those of the steps since the row before: means over augmented
/// images, each seen by the network as it then was.
struct ConvRecord {
  Index step = 0;  ///< steps done
  double epoch = 0, learning_rate = 0, train_loss = 0, train_error = 0;
  std::optional<double> test_error;  ///< top-1; nothing where it was not measured
  double images_per_s = 0;           ///< of training alone
  double weight_norm = 0;            ///< Euclidean, all convolutions
  double gradient_norm = 0;          ///< mean over the steps, before clipping
  std::vector<double> block_norms;   ///< as block_norms() gives them
};
template <Is<ConvRecord> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"step"}, r.step);
  visit(Field{"epoch"}, r.epoch);
  visit(Field{"learning_rate"}, r.learning_rate);
  visit(Field{"train_loss"}, r.train_loss);
  visit(Field{"train_error"}, r.train_error);
  visit(Field{"test_error"}, r.test_error);
  visit(Field{"images_per_s"}, r.images_per_s);
  visit(Field{"weight_norm"}, r.weight_norm);
  visit(Field{"gradient_norm"}, r.gradient_norm);
  visit(Field{"block_norms"}, r.block_norms);
}

/// memorized: every training image is right, without augmentation. finished: the schedule is done.
enum class ConvStatus { memorized, finished, diverged, interrupted };
std::string name(ConvStatus status);

struct ConvResult {
  std::string conclusion;  ///< the answer in a sentence
  ConvStatus status = ConvStatus::finished;
  Index n = 0, n_test = 0, steps = 0, weights = 0;
  Index planned_steps = 0;        ///< of the whole schedule
  std::string device, precision;  ///< in use
  std::string libtorch;           ///< as libtorch() says
  int processes = 1;
  ConvNetwork network;  ///< the mean weights if averaged
  std::vector<ConvRecord> history;
  std::optional<ConvEvaluation> train;  ///< of all training images, without augmentation; not if interrupted
  std::optional<ConvEvaluation> test;   ///< not without test images
  double seconds = 0;  ///< of training and evaluation, earlier parts of a resumed run included
};
template <Is<ConvResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion"}, r.conclusion);
  visit(Field{"status"}, r.status);
  visit(Field{"n"}, r.n);
  visit(Field{"n_test"}, r.n_test);
  visit(Field{"steps"}, r.steps);
  visit(Field{"weights"}, r.weights);
  visit(Field{"device"}, r.device);
  visit(Field{"precision"}, r.precision);
  visit(Field{"processes"}, r.processes);
  visit(Field{"libtorch"}, r.libtorch);
  visit(Field{"train"}, r.train);
  visit(Field{"test"}, r.test);
  visit(Field{"seconds"}, r.seconds);
}

/// Called with all records so far, those before a resumption included, as soon as there is a new one; on rank
/// 0 only.
using ConvObserver = std::function<void(const std::vector<ConvRecord>&)>;

/// Trains a network of draw_network(.., options.seed) on `train`; `test` may be empty. All processes of a
/// group call it with the same arguments but `process`; each gets the result.
///
/// On one machine with one LibTorch the result depends on the options, the images and the number of threads
/// alone, not on how often the run was interrupted and resumed (on a GPU: if `deterministic`).
/// Throws std::invalid_argument naming an option out of its range; DataError for a test set of other classes
/// and for a checkpoint of another run; BackendError where LibTorch, a GPU or a process is missing;
/// ResourceError where memory or disk does not suffice.
ConvResult train(const ImageSet& images, const ImageSet& test, const ConvOptions& options, Progress& progress,
                 const ConvObserver& observer = {});

/// Whether this build has LibTorch, and which one: "LibTorch 2.11.0, CUDA 13.0", "LibTorch 1.13.0, no CUDA";
/// empty without.
std::string libtorch();

}  // namespace zeroloss
