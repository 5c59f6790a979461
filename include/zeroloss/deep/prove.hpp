#pragma once
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/data/dataset.hpp"
#include "zeroloss/deep/certificate.hpp"
#include "zeroloss/deep/output_classes.hpp"
#include "zeroloss/deep/polish.hpp"
#include "zeroloss/deep/read.hpp"
#include "zeroloss/graph/network.hpp"

/// What can be proved of a trained network on its data: what it gets right, whether an exact network lies
/// beside it, and, after polishing, how far away one lies (theory 16).
namespace zeroloss {

struct ProveOptions {
  /// Which layers may move: all, hidden (all but the output layer), lastK (the last K, the output layer being
  /// one), or numbers from 1 to L + 1, separated by commas. auto: all, but hidden for classes with an output
  /// each: their targets have the same sum everywhere, and where the output weights move to have it too J is
  /// singular.
  std::string layers = "auto";
  bool polish = false;            ///< go on to weights at which the proof holds
  Index max_factorizations = 60;  ///< Cholesky factorisations of polishing, >= 1
  double divide = 1;              ///< points are divided by this first, > 0; each quotient is rounded once
  /// The classes that the outputs stand for, as in output_classes(): for a network that does not name them.
  std::vector<std::string> class_names = {};
  /// Of a single output: its class is the second where it exceeds this, |threshold| <= 1e15; where the file
  /// ends with a sigmoid, where that exceeds it, between 0 and 1. Unset: 0, of a sigmoid 1/2.
  std::optional<double> threshold = {};
  /// Whose labels: exact (of real arithmetic), or those of every runtime that rounds numbers to the types of
  /// the file and adds products in any order: float32, or one that rounds factors of products further: tf32,
  /// bfloat16, float16.
  std::string execution = "exact";
};
template <Is<ProveOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"layers",
              "Which may move: all, hidden, lastK, numbers from 1 separated by commas, or auto: all, hidden "
              "for classes "
              "with an output each"}
            .under("Proof"),
        o.layers);
  visit(Field{"polish",
              "Take Gauss-Newton steps to weights at which the proof holds; of a graph that is no network of "
              "layers "
              "the last layer's weights, in closed form"}
            .under("Proof"),
        o.polish);
  visit(Field{"max_factorizations", "Most Cholesky factorisations of polishing"}.under("Proof"),
        o.max_factorizations);
  visit(Field{"divide", "Divide every number of the points by this first, and round it to double"}.under(
            "Proof"),
        o.divide);
  visit(
      Field{"class_names",
            "The classes that the outputs stand for, in their order, or 0..9 for numbers; of one output that "
            "below 0, then that above [those that the network names]"}
          .taking("A,B,...")
          .under("Proof"),
      o.class_names);
  visit(
      Field{"threshold",
            "Of a single output: its class is the second where the output, or the sigmoid that the file ends "
            "with, exceeds this [0, of a sigmoid 0.5]"}
          .under("Proof"),
      o.threshold);
  visit(Field{"execution",
              "Also the labels that every runtime gives in these numbers, whatever the order of its sums: "
              "float32, or with products in tf32, bfloat16 or float16"}
            .of("exact|float32|tf32|bfloat16|float16")
            .under("Proof"),
        o.execution);
}

/// One network on the data, in real arithmetic at the points as they are, doubles. Of classes a sample is
/// right if the output of its own exceeds all others, and its margin is by how much (of one output: its sign,
/// and the output); of numbers there is no right or wrong.
struct ProvedNetwork {
  std::string which;    ///< given | polished | written
  Index right = 0;      ///< samples proved right
  Index wrong = 0;      ///< proved wrong
  Index undecided = 0;  ///< neither: the margin is smaller than the error of the outputs
  double margin = 0;    ///< lower bound of the least margin of all samples; negative where one may be wrong
  Index margin_sample = 0;               ///< the sample it is of, as a record of the source
  std::vector<Index> wrong_samples;      ///< proved wrong, ascending records of the source
  std::vector<Index> undecided_samples;  ///< neither right nor wrong, as well
  /// DeepNetwork::single: samples, right or wrong, that float32 may decide otherwise, and how far outputs are
  /// off there at most.
  std::vector<Index> single_samples;
  double single_error = 0;
  double output_error = 0;     ///< largest bound of what an output is off by
  double misfit = 0;           ///< upper bound of ||f - y|| over all samples and outputs
  double relative_misfit = 0;  ///< of ||y||
  double largest_error = 0;    ///< upper bound of the largest |f - y|
  /// Of classes, all proved right: output weights and biases times this or more bring the cross-entropy of
  /// every sample below 0.01.
  double sharpening = 0;
  VerifiedOutputs outputs = {};  ///< of all samples
  DeepCertificate certificate;
};
template <Is<ProvedNetwork> T, class Visitor>
void fields(T& p, const Visitor& visit) {
  visit(Field{"which", "given | polished | written."}, p.which);
  visit(Field{"right", "Samples proved right."}, p.right);
  visit(Field{"wrong", "Samples proved wrong."}, p.wrong);
  visit(Field{"undecided", "Samples whose margin is smaller than the error of the outputs."}, p.undecided);
  visit(Field{"margin", "Lower bound of the least margin of all samples."}, p.margin);
  visit(Field{"margin_sample", "The sample it is of."}, p.margin_sample);
  visit(Field{"wrong_samples", "Proved wrong."}, p.wrong_samples);
  visit(Field{"undecided_samples", "Neither proved right nor wrong."}, p.undecided_samples);
  visit(Field{"single_samples",
              "Of a network whose file is in float32: right or wrong, but float32 may decide otherwise."},
        p.single_samples);
  visit(Field{"single_error", "What float32 may be off by; 0 of other networks."}, p.single_error);
  visit(Field{"output_error", "Largest bound of what an output is off by."}, p.output_error);
  visit(Field{"misfit", "Upper bound of ||f - y|| over all samples and outputs."}, p.misfit);
  visit(Field{"relative_misfit", "Of ||y||."}, p.relative_misfit);
  visit(Field{"largest_error", "Upper bound of the largest |f - y|."}, p.largest_error);
  visit(Field{"sharpening",
              "Output weights and biases times this bring every cross-entropy below 0.01; 0: none does."},
        p.sharpening);
  visit(Field{"certificate"}, p.certificate);
  visit(Field{"outputs", "n x K, each with what it may be off by."}.apart(), p.outputs);
}

/// Labels in every execution of a file in numbers that are rounded.
struct ExecutedLabels {
  std::string execution;  ///< float32 | tf32 | bfloat16 | float16
  Index right = 0, wrong = 0, undecided = 0;
  std::vector<Index> wrong_samples, undecided_samples;  ///< ascending records of the source
  double largest_error = 0;                             ///< of numbers: upper bound of the largest |f - y|
};
template <Is<ExecutedLabels> T, class Visitor>
void fields(T& e, const Visitor& visit) {
  visit(Field{"execution", "float32 | tf32 | bfloat16 | float16."}, e.execution);
  visit(Field{"right", "Samples whose label is right in every such execution."}, e.right);
  visit(Field{"wrong", "Wrong in every one."}, e.wrong);
  visit(Field{"undecided", "It may depend on the runtime."}, e.undecided);
  visit(Field{"wrong_samples"}, e.wrong_samples);
  visit(Field{"undecided_samples"}, e.undecided_samples);
  visit(Field{"largest_error", "Of numbers: upper bound of the largest |f - y|."}, e.largest_error);
}

struct ProveResult {
  std::string conclusion;  ///< the answer in a sentence or two
  std::string network;     ///< "3 layers of 256 tanh units, 10 outputs, 150,794 weights"
  Index n = 0, d = 0, outputs = 0, n_distinct = 0;
  Index parameters = 0, moving = 0;     ///< weights, and those of layers that may move
  bool exact_is_possible = true;        ///< no samples contradict each other, no more equations than weights
  std::vector<ProvedNetwork> networks;  ///< the one given, then the polished one
  double distance = 0;                  ///< polished: from the weights given; rounded up
  double relative_distance = 0;         ///< of the length of those
  Index steps = 0, factorizations = 0;  ///< of polishing
  /// On the order of the classes, and on what was left out since it did not fit into memory; a line each.
  std::vector<std::string> remarks;
  /// Samples at which the outputs of the layers that were read were compared with those of the file itself,
  /// and of these such at which the labels that both prove are the same one.
  Index asked = 0, asked_decided = 0;
  bool of_file = false;  ///< labels are those of the file's own graph, and nothing had to be compared
  /// Weights of the layers that were read are rounded, or the file computes something else nearby: labels and
  /// outputs given are those of the file, and an exact network is beside the layers.
  bool near_file = false;
  std::optional<ExecutedLabels> executed = {};  ///< ProveOptions::execution
  double seconds = 0;
  DeepNetwork polished = {};                        ///< its weights, if there was polishing
  std::optional<GraphNetwork> polished_graph = {};  ///< of a file that is no network of layers
  /// What the polished weights are worth as polished.onnx holds them, read again. Without a certificate.
  std::optional<ProvedNetwork> written = {};
};
template <Is<ProveResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion", "The answer in a sentence or two."}, r.conclusion);
  visit(Field{"network", "What it is."}, r.network);
  visit(Field{"n", "Samples."}, r.n);
  visit(Field{"d", "Features."}, r.d);
  visit(Field{"outputs"}, r.outputs);
  visit(Field{"n_distinct", "Distinct points."}, r.n_distinct);
  visit(Field{"parameters", "Weights of the network."}, r.parameters);
  visit(Field{"moving", "Weights of layers that may move."}, r.moving);
  visit(Field{"networks", "The one given, then the polished one."}, r.networks);
  visit(Field{"distance", "Of the polished weights from those given."}, r.distance);
  visit(Field{"relative_distance", "Of the length of those."}, r.relative_distance);
  visit(Field{"steps", "Of polishing."}, r.steps);
  visit(Field{"factorizations", "Of polishing."}, r.factorizations);
  visit(
      Field{"remarks", "On the order of the classes, and on what did not fit into memory and was left out."},
      r.remarks);
  visit(Field{"asked",
              "Samples at which the file itself was evaluated and agrees with the layers that were read."},
        r.asked);
  visit(Field{"asked_decided", "Of these such with a label that both prove."}, r.asked_decided);
  visit(Field{"of_file", "Labels are those of the file's own graph."}, r.of_file);
  visit(Field{"executed", "Labels in every execution in other numbers; None unless asked for."}, r.executed);
  visit(Field{"seconds"}, r.seconds);
  visit(
      Field{"written",
            "What the polished weights are worth as polished.onnx holds them, read again; None where no such "
            "file was written."},
      r.written);
  visit(Field{"polished", "The polished network, if there was polishing."}.apart(), r.polished);
}

/// Which layers of L hidden ones and the output layer, last, may move; `auto` as for this many outputs.
/// Throws std::invalid_argument for a text that is none of those.
std::vector<bool> layers_named(const std::string& text, Index hidden, Index outputs);

/// What prove() says of a network's outputs, margins and misfit, without a certificate. Of the options
/// `divide` and `threshold` count. Throws as prove().
ProvedNetwork judge(const DeepNetwork& network, const Dataset& data, const ProveOptions& options,
                    Progress& progress);

/// What is proved of the network on the points of the data as they were read (not standardised). Equal
/// samples count as one equation; with different targets nothing can be exact, and that is said. Cost and
/// memory as certify_network and polish; where memory does not suffice for these they are left out, and that
/// is said in the remarks. Outputs stand for classes as output_classes() says; the polished network has their
/// names. Throws std::invalid_argument for options out of range, DataError for data that do not fit the
/// network or have no targets, ResourceError, Interrupted.
ProveResult prove(const DeepNetwork& network, const Dataset& data, const ProveOptions& options,
                  Progress& progress);

/// The same of a network as it was read. An ONNX file is asked what it computes at every sample: of a network
/// of layers what it computes has to agree with what was read, DataError naming the sample otherwise, or,
/// where no certificate is tried, labels are those of the file itself; where it is none labels, margins and
/// targets are proved of the graph, and what its last layer can do alone.
ProveResult prove(const ReadNetwork& network, const Dataset& data, const ProveOptions& options,
                  Progress& progress);

}  // namespace zeroloss
