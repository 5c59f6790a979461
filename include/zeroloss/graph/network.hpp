#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/graph/engine.hpp"

/// Networks as the graphs of operators that their files are, of which outputs are enclosed.
namespace zeroloss {

namespace internal {
struct OnnxGraph;
namespace graph {
struct Memory;
}
}  // namespace internal

/// What an ONNX file does not say of how it is run.
struct GraphOptions {
  /// Sizes of a sample, without the batch: "3,32,32" for colour images of channels first; empty: those that
  /// the file gives, or of points with d numbers d.
  std::string shape = "";
  std::string output_name = "";  ///< which output of several
};
template <Is<GraphOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"shape", "Of an ONNX file: the sizes of a sample, such as 3,32,32 [those in the file]"}
            .taking("SIZES")
            .under("Model"),
        o.shape);
  visit(Field{"output_name", "Of an ONNX file: which output the labels are of [the only one]"}
            .taking("NAME")
            .under("Model"),
        o.output_name);
}

/// A graph with one input of numbers, which a sample goes through alone, as a batch of one.
struct GraphNetwork {
  std::string name;                           ///< of its file
  std::string description;                    ///< "a graph of 23 nodes (Conv, Relu, ..)"
  std::string not_layers;                     ///< why it is not read as a network of layers
  std::vector<std::string> notes;             ///< on how it was read, a line each
  std::string behind;                         ///< as DeepNetwork::behind
  std::string numbers = "float64";            ///< of its types that with the fewest digits
  bool single = false;                        ///< float32 or less: whoever runs it rounds numbers
  std::vector<std::string> class_names = {};  ///< of its outputs, where a file of zeroloss says them
  bool labels = false;                        ///< the file makes labels of its outputs
  bool moved = false;                         ///< its last linear map is no longer that of the file
  Index parameters = 0;                       ///< numbers that its nodes take
  GraphOptions options = {};
  std::shared_ptr<const internal::OnnxGraph> graph = {};
  std::shared_ptr<internal::graph::Memory> memory = {};  ///< of what was computed of it
  std::shared_ptr<const GraphEngine> engine = {};  ///< where outputs are enclosed; null: in this process
  std::shared_ptr<const GraphEnclosure> enclosure = {};  ///< instead of `graph`

  bool evaluated() const { return graph || enclosure; }
};

/// Throws DataError naming the file: not ONNX, several inputs, outputs of different numbers.
GraphNetwork read_graph(const std::filesystem::path& path, const GraphOptions& options = {});

/// The same of the bytes of a file that is called `name`. `planes`: points are images with a channel behind
/// the other, while the input takes a pixel behind the other.
GraphNetwork graph_of_bytes(const std::string& bytes, const std::string& name, bool planes,
                            const GraphOptions& options = {});

/// Numbers of a sample, as the options or the file say; 0 where both leave them open.
Index features_of(const GraphNetwork& network);

/// Sizes of a sample in the file: "3 x 32 x 32", "?" for one that it leaves open; "nothing" where it gives
/// none.
std::string sizes_text(const GraphNetwork& network);

/// Names of `outputs` classes as the file gives them; empty where it gives none. Throws DataError where it
/// does not give one to each.
std::vector<std::string> class_names_of(const GraphNetwork& network, Index outputs);

/// Outputs of a graph, n x K, with bounds of their errors.
struct GraphOutputs {
  Matrix f, error;
  std::vector<Index> shape;  ///< of one sample
};

/// In exact arithmetic, or of a runtime: `execution` is exact, float32, tf32, bfloat16 or float16. Infinite
/// errors where nothing is known. Cost: three times the products of the graph, in double. Exact arithmetic is
/// enclosed by the engine, if the network has one, whose first sample is compared with this process. Throws
/// DataError naming the node that is not read or does not fit points of d numbers, Interrupted; BackendError
/// where engine and process disagree.
GraphOutputs enclosed_outputs(const GraphNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                              const std::string& execution, Progress& progress);

/// Evaluates some rows of X again, with sums of products in 64-bit mantissas, for some 20 times as long, and
/// keeps what is known better: `outputs` are those of all rows, in exact arithmetic.
void refine(const GraphNetwork& network, const RowMatrix& X, const std::vector<Index>& rows,
            GraphOutputs& outputs, Progress& progress);

/// What labels are decided by in an execution: the outputs, or what the file makes of them (softmax, sigmoid)
/// before it takes the largest; of a network with a single output one number, whose sign decides. As
/// enclosed_outputs() otherwise.
GraphOutputs deciding_outputs(const GraphNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                              const std::string& execution, Progress& progress);

/// What the last linear map sees, where the outputs are affine in constants that are its own: n x p, times by
/// how much the outputs are multiplied behind it, with bounds of their errors. `p` counts a column for what
/// it adds, which is there: of ones unless that is multiplied; 0 where there is no such map. `whole`: outputs
/// are those features times these weights, and nothing is added that is not one of them.
struct GraphFeatures {
  Index p = 0, outputs = 0;
  bool whole = false;
  std::string matrix = {}, bias = {};  ///< the constants that it is of and that it adds; empty: adds none
  bool turned = false;                 ///< the matrix is held as outputs x features
  Matrix Z = {}, error = {};
};
GraphFeatures last_features(const GraphNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                            Progress& progress);

/// A network whose last linear map was moved, as its constants hold it.
struct MovedGraph {
  GraphNetwork network;
  double distance = 0;  ///< from the map before: root of the sum of squares, rounded up
  double length = 0;    ///< of the map before
};

/// Moves the last linear map by `change`, K x p in the columns of GraphFeatures, and rounds to the types of
/// its constants. Throws std::invalid_argument where there is no such map, or where its constants are neither
/// float32 nor float64.
MovedGraph with_last_map_moved(const GraphNetwork& network, const GraphFeatures& features,
                               const Matrix& change);

/// Writes the file `source` with the last linear map of `network`, which it has but for that, reads it again
/// and compares all of its constants. Throws as read_graph() does, DataError where it is another file by now,
/// ResourceError where writing fails.
void write_like(const std::filesystem::path& source, const GraphNetwork& network,
                const std::filesystem::path& path);

/// Whether deciding_outputs() are the outputs themselves.
bool decided_by_outputs(const GraphNetwork& network);

/// "exact", "float32", ..
std::vector<std::string> executions();

}  // namespace zeroloss
