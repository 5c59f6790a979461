#pragma once
#include "processes/binary_archive.hpp"
#include "zeroloss/data/dataset.hpp"

namespace zeroloss::internal {

/// Points in memory, their labels and what is done to them first, on their way to another process.
void put(Parcel& parcel, const Dataset& data);
Dataset dataset_of(Parcel& parcel);

}  // namespace zeroloss::internal
