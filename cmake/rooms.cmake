# Rooms of the library: folders of src and include/zeroloss. Each is a target that finds the headers of the rooms it names,
# of those that these name, and no others: what a room must not know it cannot include.

# zeroloss_room(ROOM [HEADERS] [HOT] [SEES ROOM..] [FILES FILE..] [SHARED FILE..] [LINKS LIBRARY..])
#   HEADERS its sources are of another library
#   HOT     its own loops over points or weights take the time of a command; other rooms are compiled by zeroloss_cold
#   SEES    rooms whose headers it may include
#   FILES   its sources in src/ROOM [all, but those that stand for others: *_absent, *_portable]
#   SHARED  those of them that libzeroloss_torch has too, since a shared libzeroloss hides them
#   LINKS   libraries of others, beside Eigen, fmt and OpenMP
# Makes room_ROOM, the headers, and of the sources zeroloss_ROOM and zeroloss_ROOM_shared, OBJECT libraries. Their names
# are collected in ZEROLOSS_ROOMS.
function(zeroloss_room room)
  cmake_parse_arguments(PARSE_ARGV 1 of "HEADERS;HOT" "" "SEES;FILES;SHARED;LINKS")
  # A folder in which nothing but this room is found.
  set(folder ${PROJECT_BINARY_DIR}/rooms/${room})
  file(MAKE_DIRECTORY ${folder}/zeroloss)
  foreach(place src include/zeroloss)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${place}/${room})
      string(REPLACE src . link ${place})
      string(REPLACE include/ "" link ${link})
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${place}/${room} ${folder}/${link}/${room} SYMBOLIC)
    endif()
  endforeach()
  add_library(room_${room} INTERFACE)
  target_include_directories(room_${room} INTERFACE ${folder})
  foreach(other IN LISTS of_SEES)
    target_link_libraries(room_${room} INTERFACE room_${other})
  endforeach()

  if(of_HEADERS)
    return()
  endif()
  if(ZEROLOSS_TORCH_ONLY)
    set(of_FILES ${ZEROLOSS_ONLY})
    list(FILTER of_FILES INCLUDE REGEX "^src/${room}/")
    set(of_SHARED "")
    set(of_LINKS ${ZEROLOSS_PRIVATE_LIBRARIES})
  elseif(of_FILES)
    list(TRANSFORM of_FILES PREPEND src/${room}/)
  else()
    file(GLOB_RECURSE of_FILES RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS src/${room}/*.cpp)
    list(FILTER of_FILES EXCLUDE REGEX "_(absent|portable)\\.cpp$")
  endif()
  list(TRANSFORM of_SHARED PREPEND src/${room}/)
  list(REMOVE_ITEM of_FILES ${of_SHARED} "")
  set_target_properties(room_${room} PROPERTIES ZEROLOSS_LINKS "${of_LINKS}" ZEROLOSS_HOT ${of_HOT})
  zeroloss_room_objects(zeroloss_${room} ${room} "${of_FILES}")
  zeroloss_room_objects(zeroloss_${room}_shared ${room} "${of_SHARED}")
  set(ZEROLOSS_ROOMS ${ZEROLOSS_ROOMS} ${room} PARENT_SCOPE)
endfunction()

function(zeroloss_room_objects target room files)
  if(NOT files)
    return()
  endif()
  add_library(${target} OBJECT ${files})
  get_target_property(links room_${room} ZEROLOSS_LINKS)
  target_link_libraries(${target} PRIVATE room_${room} Eigen3::Eigen fmt::fmt OpenMP::OpenMP_CXX ${links})
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/include ${ZEROLOSS_RANDOM123_INCLUDE})
  target_compile_features(${target} PRIVATE cxx_std_20)
  # Eigen aligns to the widest vectors of the compiler's flags; fixing it keeps library and consumers in agreement.
  target_compile_definitions(${target} PRIVATE EIGEN_MAX_ALIGN_BYTES=64)
  if(NOT ZEROLOSS_TORCH_ONLY)
    target_compile_definitions(${target} PRIVATE EIGEN_USE_BLAS)
  endif()
  # A switch over kinds has no default: a new kind does not compile until each switch says what holds for it.
  target_compile_options(${target} PRIVATE ${ZEROLOSS_WARNINGS} -Werror=switch)
  zeroloss_unity_build(${target})
  # The headers of others are compiled once, for the first room of these flags: what Highway asks of those who link it
  # is in all of them.
  if(TARGET PkgConfig::libhwy)
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:PkgConfig::libhwy,INTERFACE_COMPILE_OPTIONS>)
  endif()
  get_target_property(hot room_${room} ZEROLOSS_HOT)
  set(first zeroloss_base)
  if(NOT hot)
    zeroloss_cold(${target})
    set(first zeroloss_chart)
  endif()
  if(TARGET ${first} AND NOT target STREQUAL first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE <Eigen/Core> <algorithm> <filesystem> <fmt/format.h> <fmt/ranges.h>
      <functional> <map> <optional> <stdexcept> <string> <vector>)
  endif()
endfunction()

# What reads, decides and prints, or leaves its loops to BLAS, FLINT and the vectors of Eigen, is compiled in two thirds
# of the time and runs as fast to whoever waits for it.
function(zeroloss_cold target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU,Clang>>:-O1>)
endfunction()

# zeroloss_objects(OUT ROOM.. [SHARED]): the objects of these rooms; with SHARED alone those that libzeroloss_torch has too.
function(zeroloss_objects out)
  cmake_parse_arguments(PARSE_ARGV 1 of "SHARED" "" "")
  set(objects "")
  # Of a template that several rooms have compiled a linker takes the first: those of hot rooms come first.
  set(hot "")
  set(last "")
  foreach(room IN LISTS of_UNPARSED_ARGUMENTS)
    get_target_property(is_hot room_${room} ZEROLOSS_HOT)
    if(is_hot)
      list(APPEND hot ${room})
    else()
      list(APPEND last ${room})
    endif()
  endforeach()
  foreach(room IN LISTS hot last)
    set(targets zeroloss_${room} zeroloss_${room}_shared)
    if(of_SHARED)
      list(POP_FRONT targets)
    endif()
    foreach(target IN LISTS targets)
      if(TARGET ${target})
        list(APPEND objects $<TARGET_OBJECTS:${target}>)
      endif()
    endforeach()
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
