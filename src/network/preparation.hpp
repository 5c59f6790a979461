#pragma once
#include <string>

#include "data/model_file.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/storage/onnx.hpp"

/// What a model of one hidden layer does to points first, in its files.
namespace zeroloss::internal {

struct Preparation {
  const Center& center;
  bool normalize;
  const Standardization& standardization;
  const Encoding& encoding;
  Index d;  ///< numbers of a point as it is made

  Index features() const { return d - (standardization.bias != 0 ? 1 : 0); }  ///< of a point as it is given
};
template <class N>
Preparation preparation_of(const N& network) {
  return {network.center, network.normalize, network.standardization, network.encoding, network.d()};
}

/// What is wrong with it; empty if nothing is.
std::string preparation_problem(const Preparation& preparation);

/// Metadata normalize, bias and columns; tensors mean, mean_low and scale.
Metadata preparation_metadata(const Preparation& preparation);
void add_preparation(ModelTensors& tensors, const Preparation& preparation);

/// The same from a file. Throws DataError for what is no such thing; sizes are for preparation_problem().
void read_preparation(const ModelFile& parts, Center& center, bool& normalize,
                      Standardization& standardization, Encoding& encoding);

/// Points x, [batch, features], as they are made.
std::string prepared(OnnxModel& model, std::string x, const Preparation& preparation, Dtype dtype);

}  // namespace zeroloss::internal
