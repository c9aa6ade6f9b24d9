# Several sources of one folder are compiled as one. The library then takes about three fifths of the compiler's time, and
# the Python extension half of it, because most of that time goes into headers. So names that are private to a source must
# be unique within its folder. The fuzz targets and the tests with MemorySanitizer are built without this. That shows
# whether every source includes what it uses. Also, both link only a part of the library, and joined sources would need the
# rest.
option(LATTICINO_UNITY "Compile several sources of a folder as one" ON)

# Compiled alone: sources whose timing is measured or must not depend on a secret, so that no neighbour changes their code.
set(LATTICINO_UNITY_ALONE "src/(crypto|backend/cpu)/")

# Compiles up to `most` sources of a folder as one, except for sources whose path matches `alone`.
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
