#include "zeroloss/present/next.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/field_text.hpp"
#include "base/percentage.hpp"
#include "network/prepare.hpp"
#include "present/common.hpp"
#include "present/next_out.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/present/certify.hpp"
#include "zeroloss/present/data.hpp"
#include "zeroloss/present/fit.hpp"
#include "zeroloss/present/memorize.hpp"
#include "zeroloss/present/predict.hpp"
#include "zeroloss/present/width.hpp"
#include "zeroloss/train/optimizers.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kMostFeatures = 16'384;      // that are proposed
constexpr Index kMostForGaussNewton = 3000;  // points: a step takes n^3/3
constexpr Index kMostForKernel = 70'000;     // points that it takes in minutes

/// What a user types for a value: of weights and of points that are read, where they are.
template <class Value>
const Value& typed(const Value& value) {
  return value;
}
const std::string& typed(const Start& start) { return start.source; }
const std::string& typed(const TestSet& test) { return test.source; }

/// What differs from the defaults, as words of a command line.
template <class Options>
void add_options(std::vector<std::string>& words, const Options& options, const Options& usual = {}) {
  fields_beside(options, usual, [&](const Field& field, const auto& value, const auto& common) {
    if (!field.serialized || value == common) return;
    const auto flag = flag_words(field, typed(value));
    words.insert(words.end(), flag.begin(), flag.end());
  });
}

/// A command on these data. The seed is that of the data.
template <class Options>
std::vector<std::string> line(const char* command, const Dataset& data, const ReadOptions& read,
                              Options options) {
  std::vector<std::string> words{"zeroloss", command, data.name};
  add_options(words, read);
  options.seed = Options{}.seed;
  add_options(words, options);
  return words;
}

std::vector<std::string> fit_line(const Dataset& data, const ReadOptions& read, const FitOptions& fit) {
  auto words = line("fit", data, read, fit);
  if (fit.seed == read.seed) return words;
  const auto seed = flag_words(Field{"start_seed"}, fit.seed);  // apart from that of the data
  words.insert(words.end(), seed.begin(), seed.end());
  return words;
}

/// Without what the model knows: its columns and their scale.
std::vector<std::string> predict_line(const std::string& model, const Dataset& data, ReadOptions read) {
  const ReadOptions usual;
  read.features = usual.features;
  read.drop = usual.drop;
  read.one_hot = usual.one_hot;
  read.na_values = usual.na_values;
  read.standardize = usual.standardize;
  read.bias = usual.bias;
  std::vector<std::string> words{"zeroloss", "predict", model, data.name};
  add_options(words, read);
  return words;
}

/// The same points and units, and how long that may take: everything else is as usual.
FitOptions same_problem(const FitOptions& from) {
  FitOptions fit;
  fit.activation = from.activation;
  fit.scaling = from.scaling;
  fit.output_scale = from.output_scale;
  fit.center = from.center;
  fit.normalize = from.normalize;
  fit.max_seconds = from.max_seconds;
  fit.failure_probability = from.failure_probability;
  fit.seed = from.seed;
  fit.test = from.test;
  return fit;
}

FitOptions with_random_features(const FitOptions& from) {
  FitOptions fit = same_problem(from);
  fit.optimizer = "output_layer";
  return fit;
}

/// What predicts points that are not fitted.
FitOptions with_kernel(const FitOptions& from) {
  FitOptions fit;
  fit.optimizer = "kernel";
  fit.center = from.center;
  fit.normalize = from.normalize;
  fit.seed = from.seed;
  fit.test = from.test;
  return fit;
}

FitOptions with_gauss_newton(const FitOptions& from) {
  FitOptions fit = same_problem(from);
  fit.start = from.start;
  fit.width = from.width;
  fit.depth = from.depth;
  fit.residual = from.residual;
  fit.widths = from.widths;
  fit.layers = from.layers;
  fit.separate = from.separate;
  fit.optimizer = "gauss_newton";
  return fit;
}

/// Training as usual, of what the data's seed begins with.
FitOptions usual_fit(const ReadOptions& read) {
  FitOptions fit;
  fit.seed = read.seed;
  return fit;
}

/// Whether leave-one-out says that a network of zero loss errs on unseen points: what a ridge is for.
bool errs_at_zero_loss(const Dataset& data, const CertifyResult& r) {
  return r.leave_one_out_error.value_or(0) > 0 && !data.stored && data.n() <= kMostForKernel;
}

std::string error_at_zero_loss(const CertifyResult& r) {
  return r.task == Task::classification
             ? fmt::format("gets {} of them wrong", percentage(*r.leave_one_out_error))
             : fmt::format("is off by {:.3g} of the targets' spread", *r.leave_one_out_error);
}

/// Columns whose numbers are a hundred times those of others.
bool of_many_scales(const Dataset& data) {
  if (data.stored || data.standardization.how != "no" || data.n() < 2) return false;
  double least = INFINITY, largest = 0;
  for (Index j = 0; j < data.d(); ++j) {
    const double spread = data.X.col(j).maxCoeff() - data.X.col(j).minCoeff();
    if (spread > 0) least = std::min(least, spread);
    largest = std::max(largest, spread);
  }
  return largest > 100 * least;
}

/// Whether there are points x and -x: activations are even or odd but for a linear part, so that what a
/// network without a constant makes of one is bound to what it makes of the other, at any width.
bool has_opposite_points(const Dataset& data, const ReadOptions& read, bool center, bool normalize) {
  return !read.bias && !data.stored && normalize &&
         !unit_points(data, center, normalize).coincide.antipodal.empty();
}

constexpr const char* kAppend = "append a constant, with which no point is opposite to another";

ReadOptions with_constant(ReadOptions read) {
  read.bias = 1;
  return read;
}

ReadOptions standardized(ReadOptions read) {
  read.standardize = "yes";
  read.bias = 1;
  return read;
}

bool all_the_same(const Dataset& data) {
  return !data.stored && data.n() > 0 && (data.X.rowwise() - data.X.row(0)).isZero(0);
}

std::string correct_labels(const Dataset& data, const std::vector<std::vector<Sample>>& conflicts) {
  if (all_the_same(data))
    return "every feature is constant, so that all points are the same: give them features that differ";
  constexpr std::size_t kNamed = 8;
  const std::vector<Sample>& group = conflicts.front();
  std::string said;
  for (std::size_t k = 0; k < std::min(kNamed, group.size()); ++k)
    said += (k == 0 ? "" : ", ") + describe(group[k]);
  if (group.size() > kNamed) said += fmt::format(" and {} more", group.size() - kNamed);
  return fmt::format("correct the labels of samples {}, or keep one of them{}", said,
                     conflicts.size() > 1
                         ? fmt::format("; so for {} of equal points",
                                       count(std::ssize(conflicts) - 1, "more group", "more groups"))
                         : "");
}

std::string of_pair(const SamplePair& pair) {
  return fmt::format("look at samples {} and {}, which are next to equal", describe(pair.first),
                     describe(pair.second));
}

/// `words`: the command that found it.
Next keep_the_network(std::vector<std::string> words, const Dataset& data, const ReadOptions& read,
                      const std::string& out) {
  if (!out.empty()) return {"apply the network", predict_line(out, data, read)};
  return with_out({"keep this network", std::move(words)}, "run");
}

/// Training has come to its end without the loss, or without a proof.
Next after_failure(const Dataset& data, const ReadOptions& read, const FitOptions& options,
                   const FitResult& r) {
  const OptimizerFacts& facts = optimizer(options.optimizer);
  if (facts.infinite) {
    FitOptions with_ridge = options;
    with_ridge.ridge = "auto";
    return {"leave-one-out finds a ridge", fit_line(data, read, with_ridge)};
  }
  if (of_many_scales(data))
    return {"columns differ a hundredfold in scale: bring them to one",
            fit_line(data, standardized(read), options)};
  FitOptions again = options;
  if (r.status == Status::diverged && options.step != "auto") {
    again.step = "auto";
    return {"the step is too large", fit_line(data, read, again)};
  }
  if (r.status != Status::converged && has_opposite_points(data, read, options.center, options.normalize))
    return {kAppend, fit_line(data, with_constant(read), options)};
  if (!facts.hidden) {  // random features already
    if (r.width < 2 * r.n_distinct) {
      again.width = 0;
      return {"more features than points are needed", fit_line(data, read, again)};
    }
    if (r.width < kMostFeatures &&
        options.width == 0) {  // once: what that does not do, more of it hardly does
      again.width = 4 * r.width;
      return {"more features tell points further apart", fit_line(data, read, again)};
    }
    if (r.nearest) return {of_pair(*r.nearest), {}};
    if (again.activation != "auto" && again.activation != "relu") {
      again.activation = "relu";
      return {"relu tells points apart that smooth activations do not", fit_line(data, read, again)};
    }
    CertifyOptions certify;
    certify.center = options.center;
    certify.normalize = options.normalize;
    return {"see which points are next to equal", line("certify", data, read, certify)};
  }
  const bool newton = options.optimizer != "gauss_newton" && r.n <= kMostForGaussNewton;
  if (r.status == Status::converged && newton && r.certificate.margin > 0)
    return {"Gauss-Newton comes to a proof in fewer steps", fit_line(data, read, with_gauss_newton(options))};
  if (r.status == Status::converged && options.stop == "tolerance" && r.certificate.margin > 0 &&
      options.precision == "float64") {
    again.stop = "certificate";
    return {"go on until a proof holds", fit_line(data, read, again)};
  }
  if (newton && r.status != Status::converged)
    return {"Gauss-Newton needs fewer steps", fit_line(data, read, with_gauss_newton(options))};
  if (options.deep() &&
      !activation(options.activation == "auto" ? kUsualActivation : options.activation).smooth() &&
      r.status != Status::converged) {
    again.activation = "tanh";
    return {"smooth units let Gauss-Newton go on where the signs of others stop it",
            fit_line(data, read, again)};
  }
  return {"train the output weights of random features instead",
          fit_line(data, read, with_random_features(options))};
}

}  // namespace

Next after_summary(const Dataset& data, const ReadOptions& read, const std::optional<TableFacts>& table) {
  ReadOptions labelled = read;
  if (table && table->proposed) labelled.target = *table->proposed;
  return {table && table->proposed
              ? fmt::format("see what stands in the way of these labels: {} looks like them",
                            excerpt(*table->proposed))
              : "see whether a network can fit them",
          line("certify", data, labelled, CertifyOptions{})};
}

Next after_certify(const Dataset& data, const ReadOptions& read, const CertifyOptions& options,
                   const CertifyResult& r) {
  if (!r.conflicts.empty()) return {correct_labels(data, r.conflicts), {}};
  if (r.outcome == "verified" && data.task == Task::none) {
    if (data.encoding.empty()) return {"give the points targets to fit", {}};
    ReadOptions last = read;
    last.target = "-1";
    return {"say which column is the target", line("certify", data, last, options)};
  }
  if (r.outcome == "verified" && options.network().deep()) {
    CertifyOptions one = options;
    one.depth = 1;
    one.residual = false;
    return {"see how wide one hidden layer has to be", line("certify", data, read, one)};
  }
  FitOptions fit = usual_fit(read);
  if (r.activation != kUsualActivation) fit.activation = r.activation;
  fit.center = options.center;
  fit.normalize = options.normalize;
  if (r.outcome == "verified") {
    if (errs_at_zero_loss(data, r))
      return {fmt::format("train with a ridge for unseen points: zero loss {} by leave-one-out",
                          error_at_zero_loss(r)),
              fit_line(data, read, with_kernel(fit))};
    return {"fit them", fit_line(data, read, with_random_features(fit))};
  }
  if (of_many_scales(data))
    return {"columns differ a hundredfold in scale: bring them to one",
            line("certify", data, standardized(read), options)};
  if (r.nearest) return {of_pair(*r.nearest), {}};
  CertifyOptions other = options;
  if (r.outcome == "not verified" && r.method == "tail") {
    other.method = "factor";
    other.passes = CertifyOptions{}.passes;
    return {"the kernel itself says more than the tail of its power series",
            line("certify", data, read, other)};
  }
  if (r.outcome == "zero" && !r.antipodal.empty() && !read.bias)
    return {kAppend, line("certify", data, with_constant(read), options)};
  if (r.activation != "relu") {
    other.activation = "relu";
    return {r.outcome == "zero" ? "relu does not need what this activation needs"
                                : "relu tells points apart that smooth activations do not",
            line("certify", data, read, other)};
  }
  if (data.task == Task::none) return {"", {}};
  return {"see whether these labels can be fitted all the same",
          fit_line(data, read, with_random_features(fit))};
}

std::vector<std::string> fit_of(const Dataset& data, const ReadOptions& read, const WidthOptions& options,
                                const WidthResult& r, const std::string& id) {
  constexpr double kFew =
      1e5;  // steps of gradient descent that are proposed; more of them are Gauss-Newton's
  const WidthRow* row = r.row(id);
  if (row == nullptr || !row->seed) return {};
  FitOptions fit;
  if (options.activation != kUsualActivation) fit.activation = options.activation;
  fit.center = options.center;
  fit.normalize = options.normalize;
  fit.width = static_cast<Index>(row->width.value_or(0));
  fit.seed = *row->seed;
  if (row->output_scale) {
    fit.start.source = "pairs";
    fit.output_scale = *row->output_scale;
  }
  if (row->step && row->steps && *row->steps <= kFew)
    fit.step = fmt::format("{}", *row->step);
  else
    fit.optimizer = "gauss_newton";
  return fit_line(data, read, fit);
}

Next after_width(const Dataset& data, const ReadOptions& read, const WidthOptions& options,
                 const WidthResult& r) {
  for (const char* row : {"any_labels", "measured"})
    if (auto words = fit_of(data, read, options, r, row); !words.empty())
      return {std::string(row) == "measured" ? "train the network that was found"
                                             : "train the network that is proved to be enough",
              std::move(words)};
  CertifyOptions certify;
  certify.activation = options.activation;
  certify.center = options.center;
  certify.normalize = options.normalize;
  if (r.rows.empty()) return {"see which samples stand in the way", line("certify", data, read, certify)};
  if (has_opposite_points(data, read, options.center, options.normalize))
    return {kAppend, line("width", data, with_constant(read), options)};
  return {"write down a network that is exact, of many layers",
          line("memorize", data, read, MemorizeOptions{})};
}

Next after_fit(const Dataset& data, const ReadOptions& read, const FitOptions& options, const FitResult& r,
               const std::string& out) {
  if (r.status == Status::interrupted) return {};
  if (!r.conflicts.empty() && !r.kernel)
    return {correct_labels(data, r.conflicts), {}};  // a ridge takes them
  if (r.status == Status::certified || r.kernel)
    return keep_the_network(fit_line(data, read, options), data, read, out);
  return after_failure(data, read, options, r);
}

Next after_memorize(const Dataset& data, const ReadOptions& read, const MemorizeOptions& options,
                    const MemorizeResult& r, const std::string& out) {
  const auto again = [&](const MemorizeOptions& changed) { return line("memorize", data, read, changed); };
  if (r.status == MemorizeStatus::memorized) return keep_the_network(again(options), data, read, out);
  MemorizeOptions other = options;
  if (options.precision == "float32") {
    other.precision = "float64";
    return {"double precision tells these points apart more surely", again(other)};
  }
  if (options.margin || options.hidden) {
    other.margin.reset();
    other.hidden.reset();
    return {"leave margin and width to the search", again(other)};
  }
  if (of_many_scales(data))
    return {"columns differ a hundredfold in scale: bring them to one; the network is trained then",
            fit_line(data, standardized(read), with_random_features(usual_fit(read)))};
  return {"train a network instead", fit_line(data, read, with_random_features(usual_fit(read)))};
}

Next after_predict(const std::string& file, const Dataset& data, const ReadOptions& read,
                   const std::string& out) {
  if (out.empty())
    return with_out({"write the predictions to a file", predict_line(file, data, read)}, "predicted.csv");
  if (file.ends_with(".onnx")) return {};
  return {"take the model to other programs", {"zeroloss", "export", file, "model.onnx"}};
}

Next after_figures(const std::vector<std::string>& words, const std::string& out) {
  if (!out.empty()) return {"look at the figures", {"zeroloss", "report", out}};
  return with_out({"keep the answer and its figures", words}, "run");
}

Next after_export(const std::string& file) {
  const std::string call = fmt::format(
      "import onnxruntime, sys; session = onnxruntime.InferenceSession(sys.argv[1]); "
      "[print(x) for x in session.get_inputs() + session.get_outputs()]");
  return {"open it in another program, such as ONNX Runtime (pip install onnxruntime)",
          {"python3", "-c", call, file}};
}

Next after_info() { return {"ask for a first proof", {"zeroloss", "certify", "digits"}}; }

Next after_known_sets() { return {"look at one of them", {"zeroloss", "data", "info", "digits"}}; }

Next after_fetch(const std::string& name) { return {"look at it", {"zeroloss", "data", "info", name}}; }

}  // namespace zeroloss
