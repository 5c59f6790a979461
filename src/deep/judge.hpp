#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zeroloss/base/error.hpp"
#include "zeroloss/deep/prove.hpp"

/// What outputs with bounds of their errors say of labels and targets, whatever made them.
namespace zeroloss::internal {

/// Samples by their point.
struct DistinctPoints {
  std::vector<Index> first;                         ///< of each, ascending
  Vector count;                                     ///< how often it occurs
  std::vector<Index> point_of;                      ///< of each sample: a number below that of points
  std::optional<std::pair<Index, Index>> conflict;  ///< two samples that contradict each other
};
DistinctPoints distinct_points(const RowMatrix& X, const Matrix& Y);

/// The points of the data, divided. Throws std::invalid_argument for a divisor that is not above 0.
RowMatrix divided_points(const Dataset& data, double divide);

/// A network's outputs with the names of their classes, of the network or by the option, and the threshold of
/// a single one, and what to remark where neither says the names. Throws as output_classes(), and
/// std::invalid_argument for names of numbers, and for a threshold that is out of range or of no single
/// output.
std::pair<NetworkOutputs, std::string> with_class_names(NetworkOutputs network, const Dataset& data,
                                                        const ProveOptions& options);

/// The output with the threshold of the options, where it is a single one: of what a sigmoid is of, the
/// number at which that is the threshold.
NetworkOutputs with_threshold(NetworkOutputs network, const ProveOptions& options);

/// What a label of a single output is decided by, where a sigmoid stands behind it or where all outputs are
/// on one side; empty where there is nothing to say.
std::string remark_on_threshold(const NetworkOutputs& network, const ProveOptions& options,
                                const VerifiedOutputs& outputs);

/// The class that outputs prove at sample i, or -1.
Index proved_label(const NetworkOutputs& network, const Matrix& f, const Matrix& error, Index i);

/// DataError for points of another number of features than `takes`; where the data have no targets and one
/// feature too many, it asks which column is the labels.
DataError unfit_points(const Dataset& data, const std::string& takes, Index features);

/// What sample i is called; points made by hand are their own records.
Index record_of(const Dataset& data, Index i);

/// "samples 3 and 7 are equal and have different targets: no network fits both".
std::string conflict_of(const Dataset& data, const std::pair<Index, Index>& samples);

/// Without a certificate; Y as targets_of().
ProvedNetwork judge_outputs(const NetworkOutputs& network, const Dataset& data, const Matrix& Y,
                            VerifiedOutputs outputs);

/// "all 100 labels right with a margin of at least 0.1, proved".
std::string labels_of(const ProvedNetwork& p, Index n);

/// Where most labels are wrong in the order of classes that was guessed: one in which most are right, if each
/// output is largest at the samples of one class above all; else "".
std::string better_order(const NetworkOutputs& network, const Dataset& data, const ProvedNetwork& p);

/// prove() of layers. Where no certificate is tried and `graph` is there (null: it is not) labels are proved
/// of the file itself, and ProveResult::of_file says so.
ProveResult prove_layers(const DeepNetwork& given, const GraphNetwork* graph, const Dataset& data,
                         const ProveOptions& options, Progress& progress);

/// What a graph computes at the points, `exact` as enclosed_outputs() has it: open samples are evaluated once
/// more, and, of one in float32, what runtimes may make of it is there.
VerifiedOutputs completed(const GraphNetwork& graph, const NetworkOutputs& network, const RowMatrix& X,
                          GraphOutputs exact, Progress& progress);

/// The answer in a sentence or two.
std::string conclusion_of(const ProveResult& r, Task task);

/// Whether somebody said how the graph is to be run, so that what does not fit is an error.
bool asked_for(const GraphNetwork& graph);

/// Of classes or numbers: labels_of(), or how far every target is off at most.
std::string said_of(const ProvedNetwork& p, Task task, Index n);

/// What the last layer alone can do beside a graph.
std::string of_last_layer(const ProvedNetwork& p, Index n_distinct);

}  // namespace zeroloss::internal
