# Benchmark programs.
add_executable(bench_records bench/records.cc bench/record_cases.cc)
add_executable(bench_bootstrap bench/bootstrap.cc)
foreach(program bench_records bench_bootstrap)
  target_link_libraries(${program} PRIVATE latticino)
endforeach()
