#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// A network's outputs with the names of their classes, of the network or by the option, and what to remark
/// where neither says them. Throws as output_classes(), and std::invalid_argument for names of numbers.
std::pair<NetworkOutputs, std::string> with_class_names(NetworkOutputs network, const Dataset& data,
                                                        const ProveOptions& options);

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

/// What a graph computes at the points, and, of one in float32, what runtimes may make of it.
VerifiedOutputs outputs_of(const GraphNetwork& graph, const RowMatrix& X, Progress& progress);

/// The answer in a sentence or two.
std::string conclusion_of(const ProveResult& r, Task task);

/// Whether somebody said how the graph is to be run, so that what does not fit is an error.
bool asked_for(const GraphNetwork& graph);

/// Of classes or numbers: labels_of(), or how far every target is off at most.
std::string said_of(const ProvedNetwork& p, Task task, Index n);

}  // namespace zeroloss::internal
