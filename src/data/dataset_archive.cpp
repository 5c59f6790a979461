#include "data/dataset_archive.hpp"

namespace zeroloss::internal {

void put(BinaryArchive& parcel, const Dataset& data) {
  const Standardization& s = data.standardization;
  parcel.put(data.X).put(data.y).put(data.task).put(data.class_names).put(data.records).put(data.name);
  parcel.put(data.digest)
      .put(data.feature_names)
      .put(data.target_name)
      .put(data.label_treatment)
      .put(data.ids)
      .put(data.source_classes)
      .put(data.picture.height)
      .put(data.picture.width)
      .put(data.picture.planes)
      .put(data.picture.together)
      .put(data.source_records)
      .put(data.targets)
      .put(data.embedding)
      .put(data.probabilities);
  parcel.put(s.scale)
      .put(s.origin.high)
      .put(s.origin.low)
      .put(s.bias)
      .put(s.how)
      .put(s.lengths)
      .put(s.automatic);
}

Dataset dataset_of(BinaryArchive& parcel) {
  Dataset data;
  Standardization& s = data.standardization;
  parcel.get(data.X);
  parcel.get(data.y);
  data.task = parcel.get<Task>();
  parcel.get(data.class_names);
  parcel.get(data.records);
  parcel.get(data.name);
  parcel.get(data.digest);
  parcel.get(data.feature_names);
  parcel.get(data.target_name);
  parcel.get(data.label_treatment);
  parcel.get(data.ids);
  parcel.get(data.source_classes);
  data.picture.height = parcel.get<Index>();
  data.picture.width = parcel.get<Index>();
  data.picture.planes = parcel.get<Index>();
  data.picture.together = parcel.get<bool>();
  data.source_records = parcel.get<Index>();
  parcel.get(data.targets);
  parcel.get(data.embedding);
  parcel.get(data.probabilities);
  parcel.get(s.scale);
  parcel.get(s.origin.high);
  parcel.get(s.origin.low);
  s.bias = parcel.get<double>();
  parcel.get(s.how);
  s.lengths = parcel.get<double>();
  s.automatic = parcel.get<bool>();
  return data;
}

}  // namespace zeroloss::internal
