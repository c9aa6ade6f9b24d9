# Benchmark programs.
add_executable(bench_records bench/records.cc bench/record_cases.cc)
add_executable(bench_bootstrap bench/bootstrap.cc bench/world.cc)
add_executable(bench_precision bench/precision.cc bench/world.cc)
add_executable(bench_cpu bench/cpu.cc bench/world.cc)
add_executable(chain_study bench/params/chain_study.cc)
foreach(program bench_records bench_bootstrap bench_precision bench_cpu chain_study)
  target_link_libraries(${program} PRIVATE latticino)
endforeach()
