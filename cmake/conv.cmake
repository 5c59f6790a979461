# What needs LibTorch: a library and a program of their own, since LibTorch takes half a second to load. Without it both
# are there and say what to install.
find_package(Torch 1.13 QUIET)
if(Torch_FOUND)
  set(conv_sources
    src/conv/checkpoint.cpp src/conv/forward.cpp src/conv/group.cpp src/conv/train.cpp src/conv/trainer.cpp
    src/core/json.cpp)
  # Only headers of the gloo inside this LibTorch will do.
  find_path(ZEROLOSS_GLOO_INCLUDE gloo/context.h PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
  if(ZEROLOSS_GLOO_INCLUDE)
    list(APPEND conv_sources src/conv/gloo.cpp)
  else()
    list(APPEND conv_sources src/conv/gloo_absent.cpp)
  endif()
  if(TARGET torch_cuda)
    # Where PyPI's torch lies, the headers of NCCL lie beside it.
    find_path(ZEROLOSS_NCCL_INCLUDE nccl.h HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/include)
    list(APPEND conv_sources src/conv/cuda.cpp)
  else()
    list(APPEND conv_sources src/conv/cuda_absent.cpp)
  endif()
  if(TARGET torch_cuda AND ZEROLOSS_NCCL_INCLUDE)
    list(APPEND conv_sources src/conv/nccl.cpp)
  else()
    list(APPEND conv_sources src/conv/nccl_absent.cpp)
  endif()
  message(STATUS "zeroloss conv: LibTorch ${Torch_VERSION}")
else()
  set(conv_sources src/conv/torch_absent.cpp)
  message(STATUS "zeroloss conv: no LibTorch found")
endif()

# evaluation, options and JSON are hidden in the other library.
add_library(zeroloss_conv ${conv_sources} src/conv/evaluation.cpp src/conv/options.cpp)
add_library(zeroloss::conv ALIAS zeroloss_conv)
target_compile_options(zeroloss_conv PRIVATE -Wall -Wextra)
target_include_directories(zeroloss_conv PRIVATE src)
target_link_libraries(zeroloss_conv PUBLIC zeroloss PRIVATE ${ZEROLOSS_PRIVATE_LIBRARIES})
if(Torch_FOUND)
  target_link_libraries(zeroloss_conv PRIVATE ${TORCH_LIBRARIES})
  target_precompile_headers(zeroloss_conv PRIVATE <torch/types.h> <torch/utils.h>)
  if(TARGET torch_cuda)
    # LibTorch finds its own NCCL at run time; the linker may see an older one of the system.
    target_link_options(zeroloss_conv PUBLIC -Wl,--allow-shlib-undefined)
  endif()
  if(ZEROLOSS_GLOO_INCLUDE)
    target_compile_definitions(zeroloss_conv PRIVATE USE_C10D_GLOO)
    target_include_directories(zeroloss_conv SYSTEM PRIVATE ${ZEROLOSS_GLOO_INCLUDE})
  endif()
  if(ZEROLOSS_NCCL_INCLUDE)
    target_compile_definitions(zeroloss_conv PRIVATE USE_C10D_NCCL)
    target_include_directories(zeroloss_conv SYSTEM PRIVATE ${ZEROLOSS_NCCL_INCLUDE})
  endif()
endif()
zeroloss_together(zeroloss_conv)
zeroloss_hide_internals(zeroloss_conv)
set_target_properties(zeroloss_conv PROPERTIES
  EXPORT_NAME conv INSTALL_RPATH $ORIGIN VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

if(Torch_FOUND AND (ZEROLOSS_BUILD_TESTS OR ZEROLOSS_BUILD_BENCH))
  zeroloss_inside(zeroloss_conv zeroloss_inside ${TORCH_LIBRARIES})
endif()

add_executable(zeroloss_conv_command
  apps/zeroloss/conv_evaluate.cpp apps/zeroloss/conv_main.cpp
  apps/zeroloss/conv_options.cpp apps/zeroloss/conv_predict.cpp apps/zeroloss/conv_train.cpp)
target_compile_options(zeroloss_conv_command PRIVATE -Wall -Wextra)
target_link_libraries(zeroloss_conv_command PRIVATE zeroloss_app_base zeroloss_conv)
set_target_properties(zeroloss_conv_command PROPERTIES OUTPUT_NAME zeroloss-conv
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

if(NOT ZEROLOSS_CONV_ONLY)
  install(TARGETS zeroloss_conv EXPORT zeroloss-conv)
  install(TARGETS zeroloss_conv_command RUNTIME)
  install(EXPORT zeroloss-conv NAMESPACE zeroloss:: FILE zeroloss-conv-targets.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/zeroloss)
endif()
