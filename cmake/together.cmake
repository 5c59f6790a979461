# zeroloss_together(TARGET): compiles its files five at a time, which halves the time of a whole build: most of it goes into
# templates that they share. So names in unnamed namespaces differ from file to file within a room.
# CMAKE_UNITY_BUILD=OFF compiles each file alone, for one who edits the library.
function(zeroloss_together target)
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  endif()
endfunction()
