# What needs LibTorch: a library and a program of their own, since LibTorch takes half a second to load. Without it both
# are there and say what to install.
set(ZEROLOSS_TORCH "" CACHE PATH "Folder of the LibTorch to use, such as torch.__path__[0] of Python; empty: the system's")
if(ZEROLOSS_TORCH)
  # From here on alone: it brings headers of protobuf and fmt, which others must not find.
  list(PREPEND CMAKE_PREFIX_PATH ${ZEROLOSS_TORCH})
  set(Torch_DIR ${ZEROLOSS_TORCH}/share/cmake/Torch CACHE PATH "" FORCE)
  set(Caffe2_DIR ${ZEROLOSS_TORCH}/share/cmake/Caffe2 CACHE PATH "" FORCE)
endif()
find_package(Torch 1.13 QUIET)
if(Torch_FOUND)
  # PyPI's brings functions of a libstdc++ of its own, some of which crash: the system's has to be found before them.
  list(PREPEND TORCH_LIBRARIES stdc++)
  set(torch_sources
    src/conv/backward.cpp
    src/conv/checkpoint.cpp src/conv/forward.cpp src/conv/group.cpp src/conv/standardize.cpp src/conv/train.cpp
    src/conv/trainer.cpp
    src/torch/device.cpp)
  if(NOT ZEROLOSS_TORCH_ONLY)
    list(APPEND torch_sources
      src/torch/descent_batch.cpp src/torch/descents.cpp src/torch/engine.cpp src/torch/entries.cpp src/torch/matrix.cpp
      src/torch/activations.cpp src/torch/graphs.cpp src/torch/pairs.cpp src/torch/panels.cpp src/torch/probe.cpp
      src/torch/tail.cpp src/torch/tangent_matrix.cpp src/torch/tangent_steps.cpp)
  endif()
  # Only headers of the gloo inside this LibTorch will do.
  find_path(ZEROLOSS_GLOO_INCLUDE gloo/context.h PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
  if(ZEROLOSS_GLOO_INCLUDE)
    list(APPEND torch_sources src/conv/gloo.cpp)
  else()
    list(APPEND torch_sources src/conv/gloo_absent.cpp)
  endif()
  if(TARGET torch_cuda)
    # Where PyPI's torch lies, the headers of NCCL lie beside it.
    find_path(ZEROLOSS_NCCL_INCLUDE nccl.h HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/include)
    list(APPEND torch_sources src/torch/cuda.cpp)
  else()
    list(APPEND torch_sources src/torch/cuda_absent.cpp)
  endif()
  if(TARGET torch_cuda AND ZEROLOSS_NCCL_INCLUDE)
    list(APPEND torch_sources src/conv/nccl.cpp)
  else()
    list(APPEND torch_sources src/conv/nccl_absent.cpp)
  endif()
  message(STATUS "zeroloss-torch: LibTorch ${Torch_VERSION}")
else()
  set(torch_sources src/conv/torch_absent.cpp src/torch/descents_absent.cpp src/torch/engine_absent.cpp
    src/torch/graphs_absent.cpp src/torch/tangent_steps_absent.cpp)
  message(STATUS "zeroloss-torch: no LibTorch found")
endif()

add_library(zeroloss_torch ${torch_sources} $<$<BOOL:${BUILD_SHARED_LIBS}>:${ZEROLOSS_SHARED}>)
add_library(zeroloss::torch ALIAS zeroloss_torch)
target_compile_options(zeroloss_torch PRIVATE ${ZEROLOSS_WARNINGS})
target_link_libraries(zeroloss_torch PUBLIC zeroloss PRIVATE $<BUILD_INTERFACE:room_conv> ${ZEROLOSS_PRIVATE_LIBRARIES})
if(Torch_FOUND)
  target_link_libraries(zeroloss_torch PRIVATE ${TORCH_LIBRARIES})
  # LibTorch may bring headers of another fmt than the one that is linked.
  target_compile_definitions(zeroloss_torch PRIVATE FMT_HEADER_ONLY=1)
  target_precompile_headers(zeroloss_torch PRIVATE <torch/types.h> <torch/utils.h>)
  if(TARGET torch_cuda)
    # LibTorch finds its own NCCL at run time; the linker may see an older one of the system.
    target_link_options(zeroloss_torch PUBLIC -Wl,--allow-shlib-undefined)
  endif()
  if(ZEROLOSS_GLOO_INCLUDE)
    target_compile_definitions(zeroloss_torch PRIVATE USE_C10D_GLOO)
    target_include_directories(zeroloss_torch SYSTEM PRIVATE ${ZEROLOSS_GLOO_INCLUDE})
  endif()
  if(ZEROLOSS_NCCL_INCLUDE)
    target_compile_definitions(zeroloss_torch PRIVATE USE_C10D_NCCL)
    target_include_directories(zeroloss_torch SYSTEM PRIVATE ${ZEROLOSS_NCCL_INCLUDE})
  endif()
endif()
zeroloss_unity_build(zeroloss_torch)
zeroloss_hide_internals(zeroloss_torch)
set_target_properties(zeroloss_torch PROPERTIES
  EXPORT_NAME torch INSTALL_RPATH $ORIGIN VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

if(Torch_FOUND AND (ZEROLOSS_BUILD_TESTS OR ZEROLOSS_BUILD_BENCH))
  zeroloss_inside(zeroloss_torch $<TARGET_OBJECTS:zeroloss_torch> zeroloss_inside ${TORCH_LIBRARIES})
  if(TARGET torch_cuda)
    target_link_options(zeroloss_torch_inside INTERFACE -Wl,--allow-shlib-undefined)
  endif()
endif()

add_executable(zeroloss_torch_command
  apps/zeroloss/conv_evaluate.cpp apps/zeroloss/conv_options.cpp apps/zeroloss/conv_predict.cpp
  apps/zeroloss/conv_train.cpp apps/zeroloss/torch_main.cpp)
if(ZEROLOSS_TORCH_ONLY)
  target_sources(zeroloss_torch_command PRIVATE apps/zeroloss/torch_programs_absent.cpp)
else()
  target_sources(zeroloss_torch_command PRIVATE apps/zeroloss/torch_programs.cpp)
endif()
target_compile_options(zeroloss_torch_command PRIVATE ${ZEROLOSS_WARNINGS})
target_link_libraries(zeroloss_torch_command PRIVATE zeroloss_app_base zeroloss_torch)
zeroloss_unity_build(zeroloss_torch_command)
zeroloss_cold(zeroloss_torch_command)
set_target_properties(zeroloss_torch_command PROPERTIES OUTPUT_NAME zeroloss-torch
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

if(NOT ZEROLOSS_TORCH_ONLY)
  install(TARGETS zeroloss_torch EXPORT zeroloss-torch COMPONENT torch)
  install(TARGETS zeroloss_torch_command RUNTIME COMPONENT torch)
  install(EXPORT zeroloss-torch NAMESPACE zeroloss:: FILE zeroloss-torch-targets.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/zeroloss COMPONENT torch)
endif()
