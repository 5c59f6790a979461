# What lies in namespace zeroloss::internal is no part of the interface.

# A shared library shows the rest alone.
function(zeroloss_hide_internals target)
  if(BUILD_SHARED_LIBS AND UNIX AND NOT APPLE)
    target_link_options(${target} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  endif()
endfunction()

# zeroloss_inside(TARGET OBJECTS LIBRARY..): TARGET_inside, the same objects, and what it has of another target, for tests
# and benchmarks, which look inside.
function(zeroloss_inside target objects)
  add_library(${target}_inside STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${target}> ${objects})
  target_compile_features(${target}_inside PUBLIC cxx_std_20)
  target_compile_definitions(${target}_inside PUBLIC EIGEN_MAX_ALIGN_BYTES=64 ${ZEROLOSS_VECTORS})
  target_include_directories(${target}_inside PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target}_inside PUBLIC ${ARGN})
endfunction()
