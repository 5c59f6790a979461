#pragma once
#include <string>
#include <vector>

#include "zeroloss/data/dataset.hpp"
#include "zeroloss/deep/network.hpp"

/// Which class an output stands for: what decides that a label is right.
namespace zeroloss {

/// What a network says of its outputs.
struct NetworkOutputs {
  Index count = 0;
  std::vector<std::string> class_names = {};
  std::string behind = {};  ///< as DeepNetwork::behind
  bool single = false;      ///< as DeepNetwork::single
  /// Of a single output: its class is the second where it exceeds this, which is known to within the error.
  double threshold = 0, threshold_error = 0;
};
NetworkOutputs outputs_of(const DeepNetwork& network);

/// Whether what stands behind the outputs, as DeepNetwork::behind says it, begins with a sigmoid.
bool ends_with_sigmoid(const std::string& behind);

struct OutputClasses {
  std::vector<std::string> names;  ///< of outputs 0 to K - 1; of a single output: below 0, above 0
  std::string remark;              ///< where nobody named them: whose order was taken; else empty
};

/// The network's own names, or else those `asked` for, one for each output ("0..9": the numbers from 0 to 9);
/// where both are silent all classes of the source in their order, whichever of them were kept, if these are
/// as many as the outputs. Throws DataError that asks for names where they are not,
/// std::invalid_argument for names that are another number, that repeat one, or that contradict the network.
OutputClasses output_classes(const NetworkOutputs& network, const Dataset& data,
                             const std::vector<std::string>& asked = {});

/// "; say .. `class_names`" where the names of a network are numbers, which may stand for other names; else
/// "".
std::string hint_of_names(const std::vector<std::string>& names);

/// The targets of a network with K outputs, n x K: numbers as they are; of classes, which the outputs
/// have as output_classes() says, 1 for their own output and -1 for the others, of a single output 1 below
/// and above its threshold. Throws DataError where data and network do not fit.
Matrix targets_of(const NetworkOutputs& network, const Dataset& data);

}  // namespace zeroloss
