#pragma once
#include "processes/binary_archive.hpp"
#include "zeroloss/data/dataset.hpp"

namespace zeroloss::internal {

/// Points in memory, their labels and what is done to them first, on their way to another process.
void put(BinaryArchive& parcel, const Dataset& data);
Dataset dataset_of(BinaryArchive& parcel);

}  // namespace zeroloss::internal
