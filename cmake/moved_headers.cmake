# Public headers that have moved, old name and new: until 1.0 the old one includes the new one.
set(moved
  core/advice.hpp base/advice.hpp
  core/blas.hpp base/blas.hpp
  core/chart.hpp chart/chart.hpp
  core/digest.hpp base/digest.hpp
  core/error.hpp base/error.hpp
  core/fields.hpp base/fields.hpp
  core/group.hpp processes/process_group.hpp
  core/ieee.hpp base/ieee.hpp
  core/matrix.hpp base/matrix.hpp
  core/memory.hpp base/memory.hpp
  core/onnx.hpp storage/onnx.hpp
  core/parse.hpp base/parse.hpp
  core/progress.hpp base/progress.hpp
  core/random.hpp base/random.hpp
  core/run.hpp base/run.hpp
  core/tensors.hpp storage/tensors.hpp
  core/text.hpp base/text.hpp
  core/threads.hpp base/threads.hpp
  data/arrays.hpp sources/arrays.hpp
  data/center.hpp linalg/center.hpp
  data/columns.hpp sources/columns.hpp
  data/fetch.hpp download/fetch.hpp
  data/images.hpp images/images.hpp
  data/readers.hpp sources/readers.hpp
  data/table.hpp tables/table.hpp)
while(moved)
  list(POP_FRONT moved old new)
  file(CONFIGURE OUTPUT include/zeroloss/${old} CONTENT [[
#pragma once
#include "zeroloss/@new@"  // where it is now
]] @ONLY)
endwhile()
