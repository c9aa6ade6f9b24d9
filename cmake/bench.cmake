# Benchmark programs.
add_executable(bench_records bench/records.cc bench/record_cases.cc)
target_link_libraries(bench_records PRIVATE latticino)
