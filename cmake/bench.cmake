# Benchmark programs.
add_executable(bench_records bench/records.cc bench/record_cases.cc)
add_executable(bench_operations bench/operations.cc bench/world.cc)
add_executable(bench_bootstrap bench/bootstrap.cc bench/world.cc)
add_executable(bench_precision bench/precision.cc bench/world.cc)
add_executable(bench_cpu bench/cpu.cc bench/world.cc)
add_executable(bench_ablation bench/ablation.cc bench/record_cases.cc bench/world.cc)
add_executable(bench_growth bench/growth.cc bench/record_cases.cc)
add_executable(bench_tune bench/tune.cc bench/world.cc)
add_executable(chain_study bench/params/chain_study.cc)
foreach(program bench_records bench_operations bench_bootstrap bench_precision bench_cpu
        bench_ablation bench_growth bench_tune chain_study)
  target_link_libraries(${program} PRIVATE latticino)
endforeach()
