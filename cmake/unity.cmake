# Several sources of one folder are compiled as one. The library then takes about three fifths of the compiler's time, and the
# Python extension half of it, because most of that time goes into headers. Anything that a source keeps for itself must have a name of its own within its
# folder. The fuzz targets are built without, so that every source still includes what it uses, and so are the tests with
# MemorySanitizer: both have a part of the library, and sources that they do not reach would ask for the rest.
option(LATTICINO_UNITY "Compile several sources of a folder as one" ON)

# Alone: sources whose timing is measured or must not depend on a secret, so that no neighbour changes their code.
set(LATTICINO_UNITY_ALONE "src/(crypto|backend/cpu)/")

# At most so many sources of a folder are one, but for those whose path matches `alone`.
function(latticino_unity target sources alone most)
  if(NOT LATTICINO_UNITY OR LATTICINO_FUZZ OR LATTICINO_MEMORY_SANITIZER)
    return()
  endif()
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${alone}")
  set(folders)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    set(here ${sources})
    list(FILTER here INCLUDE REGEX "^${folder}/[^/]*$")
    list(LENGTH here count)
    math(EXPR groups "(${count} + ${most} - 1) / ${most}")
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${folder})
    string(REPLACE "/" "_" name ${name})
    set(index 0)
    foreach(source ${here})
      math(EXPR group "${index} * ${groups} / ${count}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
