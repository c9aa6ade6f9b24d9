# Run by ctest: one test per suite of a GoogleTest program. Cases of a suite share a process, contexts and keys; "What differs
# from usual practice" in docs/architecture.md says what that saves. Each suite reports its cases to a file of its own, from
# which tests/tiers.py counts them.
#   PROGRAM, LABEL, FOLDER (where it runs), REPORTS (a folder), SECONDS (after which a suite is ended)
function(latticino_add_suites program label folder reports seconds)
  if(NOT EXISTS ${program})
    add_test(${label}_tests_NOT_BUILT ${label}_tests_NOT_BUILT)
    return()
  endif()
  execute_process(COMMAND ${program} --gtest_list_tests WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE listed
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "(^|\n)[^ \n]+\\." suites "${listed}")
  # The longest begin first, also where ctest has not measured them: of the folders those of conformance and noise.
  set(cost 0)
  if(label MATCHES "^(conformance|noise)$")
    set(cost 100)
  endif()
  foreach(suite IN LISTS suites)
    string(REGEX REPLACE "[\n.]" "" suite "${suite}")
    string(REPLACE "/" "-" report "${suite}")
    add_test(${label}.${suite} ${program} "--gtest_filter=${suite}.*" "--gtest_output=xml:${reports}/${label}.${report}.xml")
    set_tests_properties(${label}.${suite} PROPERTIES LABELS ${label} WORKING_DIRECTORY ${folder} TIMEOUT ${seconds}
      COST ${cost})
  endforeach()
endfunction()
