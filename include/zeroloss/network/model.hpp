#pragma once
#include <filesystem>

#include "zeroloss/network/network.hpp"
#include "zeroloss/storage/tensors.hpp"

/// Networks as files: .safetensors to keep them, .onnx for other programs.
namespace zeroloss {

/// Writes a safetensors file: tensors W (outputs x m x d) and v (outputs x m), F32 or F64 by precision, and
/// mean and mean_low (d, F64: the center's high and low part) if there is one; scale (F64, a number a
/// feature), where points are scaled, and metadata bias, where a constant is appended; metadata columns
/// (JSON), where they were rows of a table; metadata kind = two_layer, format_version = 1, activation,
/// scaling, precision, task, class_names (a JSON list) and normalize. `extra` is kept beside these (options
/// of the training, ..); what it says under one of their keys is left out. Names in other encodings become
/// UTF-8, see utf8() in core/text. Written as write_tensors does. Throws std::invalid_argument for a network
/// that load_model would refuse.
void save_model(const std::filesystem::path& path, const Network& network, const Metadata& extra = {});

/// What save_model wrote: the same numbers to the last bit. Throws DataError naming the file and what is
/// wrong: not safetensors, another kind or a later version, unknown activation, scaling, precision or task,
/// shapes that do not fit each other, values that are not finite, a number of outputs that is not the task's,
/// two classes of one name. Tensors and metadata of other names are left alone.
Network load_model(const std::filesystem::path& path);

/// Writes the network as ONNX: input "x" [batch, d], raw points; output "y" [batch, outputs]; for
/// classification also "label" [batch], int64: the index into class_names that predicted_classes gives. All
/// in float32 for a float32 network, in float64 otherwise, normalisation included; a zero row gives NaN.
/// metadata_props are the metadata of save_model.
///
/// Operators are standard ones that ONNX Runtime has for the type. It has no Erf in float64: there erf and
/// gelu take Erf in float32 (metadata: erf_precision = float32).
/// Measured at width 32,768 with ONNX Runtime 1.31: the difference to predict() is below 2e-6 (float32), 4e-8
/// (float64 with Erf), 2e-15 (other float64) of the largest output. The mean is subtracted in two parts; but
/// points in float32 that are far from the origin, compared with their spread, have lost digits before.
/// Memory at use: two or more arrays of outputs x batch x m numbers. Throws as save_model and
/// OnnxModel::write do.
void export_onnx(const std::filesystem::path& path, const Network& network, const Metadata& extra = {});

}  // namespace zeroloss
