# What needs LibTorch: a library and a program of their own, since LibTorch takes half a second to load. Without it both
# are there and say what to install.
find_package(Torch 1.13 QUIET)
if(Torch_FOUND)
  set(conv_sources
    src/conv/checkpoint.cpp src/conv/forward.cpp src/conv/group.cpp src/conv/train.cpp src/conv/trainer.cpp)
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

add_library(zeroloss_conv ${conv_sources})
add_library(zeroloss::conv ALIAS zeroloss_conv)
target_compile_options(zeroloss_conv PRIVATE -Wall -Wextra)
target_include_directories(zeroloss_conv PRIVATE src)
target_link_libraries(zeroloss_conv PUBLIC zeroloss PRIVATE ${ZEROLOSS_PRIVATE_LIBRARIES})
if(Torch_FOUND)
  target_link_libraries(zeroloss_conv PRIVATE ${TORCH_LIBRARIES})
  target_compile_definitions(zeroloss_conv PRIVATE
    $<$<BOOL:${ZEROLOSS_GLOO_INCLUDE}>:USE_C10D_GLOO> $<$<BOOL:${ZEROLOSS_NCCL_INCLUDE}>:USE_C10D_NCCL>)
  foreach(folder IN ITEMS ${ZEROLOSS_GLOO_INCLUDE} ${ZEROLOSS_NCCL_INCLUDE})
    target_include_directories(zeroloss_conv SYSTEM PRIVATE ${folder})
  endforeach()
endif()
set_target_properties(zeroloss_conv PROPERTIES
  EXPORT_NAME conv VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

add_executable(zeroloss_conv_command ${ZEROLOSS_COMMAND_BASE}
  apps/zeroloss/conv_evaluate.cpp apps/zeroloss/conv_export.cpp apps/zeroloss/conv_main.cpp
  apps/zeroloss/conv_options.cpp apps/zeroloss/conv_output.cpp apps/zeroloss/conv_predict.cpp
  apps/zeroloss/conv_train.cpp)
target_compile_options(zeroloss_conv_command PRIVATE -Wall -Wextra)
target_link_libraries(zeroloss_conv_command PRIVATE
  zeroloss_conv CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
set_target_properties(zeroloss_conv_command PROPERTIES OUTPUT_NAME zeroloss-conv
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
