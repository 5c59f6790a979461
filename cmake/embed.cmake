# zeroloss_embed(TARGET NAME FILE): compiles FILE into TARGET as zeroloss::internal::embedded::NAME, declared in src/download/embedded.hpp.
# This file is also the script that writes the source: cmake -D NAME=.. -D FILE=.. -D SOURCE=.. -P embed.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${FILE} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  file(WRITE ${SOURCE} "#include \"download/embedded.hpp\"

static constexpr char bytes[] = {
${bytes}};

constinit const std::string_view zeroloss::internal::embedded::${NAME}{bytes, sizeof bytes};
")
  return()
endif()

set(ZEROLOSS_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(zeroloss_embed target name file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cpp)
  cmake_path(ABSOLUTE_PATH file)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D NAME=${name} -D FILE=${file} -D SOURCE=${source} -P ${ZEROLOSS_EMBED_SCRIPT}
    DEPENDS ${file} ${ZEROLOSS_EMBED_SCRIPT}
    COMMENT "Embedding ${file}" VERBATIM)
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${source})
endfunction()
