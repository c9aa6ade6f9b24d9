# Benchmark programs. Code that several of them use is in bench/support.
add_executable(bench_records bench/records.cc bench/record_cases.cc bench/one_digit_cases.cc)
add_executable(bench_operations bench/operations.cc bench/support/world.cc)
add_executable(bench_bootstrap bench/bootstrap.cc bench/support/world.cc)
add_executable(bench_precision bench/precision.cc bench/support/world.cc)
add_executable(bench_client bench/client.cc bench/support/world.cc)
add_executable(bench_cpu bench/cpu.cc bench/support/world.cc)
add_executable(bench_ablation bench/ablation.cc bench/record_cases.cc bench/one_digit_cases.cc
  bench/support/world.cc)
add_executable(bench_pipelining bench/pipelining.cc bench/record_cases.cc bench/one_digit_cases.cc)
add_executable(bench_growth bench/growth.cc bench/record_cases.cc bench/one_digit_cases.cc)
add_executable(bench_switch bench/switch.cc bench/switch_cases.cc bench/support/world.cc)
add_executable(bench_host bench/host.cc bench/support/world.cc)
add_executable(bench_bitpacker bench/bitpacker/bitpacker.cc bench/bitpacker/bitpacker_sets.cc
  bench/bitpacker/bitpacker_errors.cc bench/support/world.cc)
add_executable(bench_tune bench/tune.cc bench/support/world.cc)
add_executable(chain_study bench/params/chain_study.cc)
add_executable(packing_study bench/params/packing_study.cc bench/params/packing_literal.cc
  bench/params/packing_sets.cc)
add_executable(bench_transforms bench/transforms.cc)
add_executable(bench_gates bench/gates.cc)
add_executable(bench_repack bench/repack.cc bench/support/world.cc)
add_executable(bench_ceilings bench/ceilings/ceilings.cc bench/ceilings/cpu.cc bench/ceilings/cpu_avx512.cc
  bench/ceilings/cpu_avx2.cc bench/ceilings/cpu_plain.cc)
set_source_files_properties(bench/ceilings/cpu_avx512.cc PROPERTIES COMPILE_OPTIONS "-mavx512f;-mavx512dq;-mfma")
set_source_files_properties(bench/ceilings/cpu_avx2.cc PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
set(LATTICINO_BENCH_PROGRAMS bench_records bench_operations bench_bootstrap bench_precision bench_client bench_cpu
  bench_ablation bench_pipelining bench_growth bench_switch bench_host bench_bitpacker bench_tune bench_transforms
  bench_gates chain_study packing_study bench_ceilings bench_repack)
if(LATTICINO_HAVE_CUDA)
  target_sources(bench_ceilings PRIVATE bench/ceilings/gpu.cu)
  set_target_properties(bench_ceilings PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
    CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static)
  add_executable(bench_butterflies bench/butterflies.cu)
  set_target_properties(bench_butterflies PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
    CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static)
  add_executable(bench_transform_forms bench/forms/forms.cu)
  set_target_properties(bench_transform_forms PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
    CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static)
  list(APPEND LATTICINO_BENCH_PROGRAMS bench_butterflies bench_transform_forms)
else()
  target_sources(bench_ceilings PRIVATE bench/ceilings/no_gpu.cc)
endif()
foreach(program ${LATTICINO_BENCH_PROGRAMS})
  target_include_directories(${program} PRIVATE bench)
  target_link_libraries(${program} PRIVATE latticino ${CMAKE_DL_LIBS})
endforeach()
