# The part of the library that `zeroloss conv` needs, on a machine that has LibTorch, OpenMP and headers of other people's
# libraries, but none of their binaries: a GPU node, say. -D CMAKE_PREFIX_PATH or CMAKE_INCLUDE_PATH say where headers are.
find_package(OpenMP REQUIRED)
find_path(ZEROLOSS_EIGEN_INCLUDE Eigen/Core PATH_SUFFIXES eigen3 REQUIRED)
find_path(ZEROLOSS_FMT_INCLUDE fmt/format.h REQUIRED)
find_path(ZEROLOSS_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
find_path(ZEROLOSS_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)

function(zeroloss_headers name folder)
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} INTERFACE ${folder})
endfunction()
zeroloss_headers(Eigen3::Eigen ${ZEROLOSS_EIGEN_INCLUDE})
zeroloss_headers(fmt::fmt ${ZEROLOSS_FMT_INCLUDE})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
zeroloss_headers(nlohmann_json::nlohmann_json ${ZEROLOSS_JSON_INCLUDE})
zeroloss_headers(CLI11::CLI11 ${ZEROLOSS_CLI11_INCLUDE})
set(ZEROLOSS_PRIVATE_LIBRARIES OpenMP::OpenMP_CXX fmt::fmt nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})

set(ZEROLOSS_ONLY
  src/conv/augment.cpp src/conv/batches.cpp src/conv/evaluation.cpp src/conv/model.cpp src/conv/options.cpp
  src/conv/resnet.cpp src/conv/whiten.cpp
  src/base/advice.cpp src/base/blas_absent.cpp src/base/cgroup.cpp src/chart/chart.cpp src/base/digest.cpp src/base/digest_portable.cpp
  src/linalg/center.cpp src/linalg/eigenvalues.cpp src/linalg/unit_rows.cpp src/base/flush.cpp src/processes/process_group.cpp src/base/json.cpp src/base/memory.cpp src/storage/onnx_absent.cpp
  src/base/parse.cpp src/base/progress.cpp src/base/random.cpp src/base/run.cpp src/storage/tensors.cpp src/base/text.cpp
  src/base/temporary.cpp src/base/threads.cpp src/base/write_file.cpp
  src/data/choose.cpp src/images/cifar.cpp src/data/dataset.cpp src/images/decode_image_absent.cpp src/tables/encoding.cpp
  src/images/image_folder.cpp src/images/image_index.cpp src/images/images.cpp src/download/known.cpp src/data/model_file.cpp src/data/onnx_parts.cpp
  src/images/resize.cpp src/data/stop_streams.cpp
  src/present/common.cpp src/present/conv.cpp src/present/next_conv.cpp src/present/table.cpp)
