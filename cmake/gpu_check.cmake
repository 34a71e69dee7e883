# What scripts/gpu-check takes to a machine with a GPU: `cmake --build . --target gpu_check_programs`,
# then `cmake --install . --component gpu_check`.
set(forge_gpu_check_programs
  forge-cuda-bench forge-trace
  cuda_context_test cuda_device_test cuda_lost_device_test cuda_numerics_test
  gpu_fast_test gpu_golden_replay_test gpu_kernels_test executor_test)
add_custom_target(gpu_check_programs DEPENDS ${forge_gpu_check_programs})
# Shared libraries go along, in lib.
set_target_properties(${forge_gpu_check_programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS ${forge_gpu_check_programs} COMPONENT gpu_check EXCLUDE_FROM_ALL)
