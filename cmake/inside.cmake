# What lies in namespace zeroloss::internal is no part of the interface.

# A shared library shows the rest alone.
function(zeroloss_hide_internals target)
  if(BUILD_SHARED_LIBS AND UNIX AND NOT APPLE)
    target_link_options(${target} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  endif()
endfunction()

# zeroloss_inside(TARGET OBJECTS LIBRARY..): TARGET_inside, of the same objects, for tests and benchmarks, which look inside.
# It is a shared library that calls its own functions: templates and inline functions that a test instantiates too, with
# other flags, would else take the place of those that ship. Sanitizers want each function once.
function(zeroloss_inside target objects)
  if(BUILD_SHARED_LIBS AND UNIX AND NOT APPLE AND NOT CMAKE_CXX_FLAGS MATCHES "sanitize")
    add_library(${target}_inside SHARED EXCLUDE_FROM_ALL ${objects})
    target_link_options(${target}_inside PRIVATE LINKER:-Bsymbolic)
  else()
    add_library(${target}_inside STATIC EXCLUDE_FROM_ALL ${objects})
  endif()
  target_compile_features(${target}_inside PUBLIC cxx_std_20)
  target_compile_definitions(${target}_inside PUBLIC EIGEN_MAX_ALIGN_BYTES=64 ${ZEROLOSS_VECTORS})
  target_include_directories(${target}_inside PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target}_inside PUBLIC ${ARGN})
  set_target_properties(${target}_inside PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
