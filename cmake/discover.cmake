include(GoogleTest)
# Each case of a GoogleTest program is a test of ctest, FOLDER.Suite.Case, in a process of its own. ctest asks a new program for
# its cases before it runs any, so a build runs no program. Values and types of parameters stay out of the names: they may hold
# any bytes.
#   TARGET, FOLDER (the label), DIRECTORY (where it runs), SECONDS (after which a case is ended)
function(latticino_discover target folder directory seconds)
  # Cases of conformance and noise take longest, so they begin first, also where ctest has not measured them.
  set(cost 0)
  if(folder MATCHES "^(conformance|noise)$")
    set(cost 100)
  endif()
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300 TEST_PREFIX ${folder}. NO_PRETTY_TYPES
    NO_PRETTY_VALUES WORKING_DIRECTORY ${directory} PROPERTIES LABELS ${folder} TIMEOUT ${seconds} COST ${cost})
endfunction()
