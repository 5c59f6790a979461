# Installs the build tree into a temporary prefix, builds a separate project against it with find_package(zeroloss), runs
# that and the installed command. BUILD, SOURCE, WORK, CONFIG, GENERATOR, COMPILER and FLAGS come from tests/CMakeLists.txt.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
if(CONFIG)
  set(config --config ${CONFIG})
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix ${config})

# Eigen's own choice of alignment depends on the vector instructions that the compiler may use. Where consumer and
# library disagree, one frees what the other allocated in another way: so both kinds of consumer are tried.
set(vectors none)
if(EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo avx2 REGEX "flags.* avx2" LIMIT_COUNT 1)
  if(avx2)
    list(APPEND vectors avx2)
  endif()
endif()
foreach(kind IN LISTS vectors)
  set(flags "${FLAGS}")
  if(kind STREQUAL avx2)
    string(APPEND flags " -mavx2")
  endif()
  set(build ${WORK}/${kind})
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${build} -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${WORK}/prefix
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS=${flags})
  run(${CMAKE_COMMAND} --build ${build} --config Release)
  find_program(consumer_${kind} consumer PATHS ${build} ${build}/Release NO_DEFAULT_PATH REQUIRED)
  run(${consumer_${kind}})
  if(EXISTS ${build}/consumer_conv)
    run(${build}/consumer_conv)
  endif()
  run(${build}/consumer_kernel)
  run(${build}/consumer_proof)
  # Readers of files come with neither.
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${build}/consumer_kernel RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing)
  list(FILTER needed INCLUDE REGEX "/lib(zeroloss|sqlite3|curl|onnx|protobuf|archive|zip|jpeg|png)[^/]*$")
  if(needed)
    message(FATAL_ERROR "a program with zeroloss::kernel needs ${needed}")
  endif()
endforeach()

execute_process(COMMAND ${WORK}/prefix/bin/zeroloss certify sphere:n=20,d=5 --json
  OUTPUT_VARIABLE answer COMMAND_ERROR_IS_FATAL ANY)
string(JSON outcome GET "${answer}" outcome)
string(JSON bound GET "${answer}" lambda_min_verified)
if(NOT outcome STREQUAL "verified" OR NOT bound GREATER 0)
  message(FATAL_ERROR "the installed command answers ${answer}")
endif()

foreach(file man/man1/zeroloss-fit.1 bash-completion/completions/zeroloss zsh/site-functions/_zeroloss
    fish/vendor_completions.d/zeroloss.fish)
  if(NOT EXISTS ${WORK}/prefix/share/${file})
    message(FATAL_ERROR "not installed: share/${file}")
  endif()
endforeach()
