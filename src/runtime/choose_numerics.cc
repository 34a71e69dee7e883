#include "choose_numerics.h"

#include "gpu_target.h"

namespace forge::runtime {
namespace {

using numerics::KvType;

bool has(TargetKind kind, RunNumerics numerics) {
  if (numerics == RunNumerics::native) return kind == TargetKind::cpu;
  if (numerics == RunNumerics::fast) return is_gpu(kind);
  return true;
}

/// What a GPU would run with fast numerics. Errors: why it does not.
tl::expected<gpu::GpuModels, std::string> fast_models(const TargetOptions& options,
                                                      const LoadedModel& model) {
  TargetOptions fast = options;
  fast.source.numerics = RunNumerics::fast;
  return gpu_models(fast, model);
}

/// That of the rows between the kernels.
KvType kv_type_of(const gpu::GpuModel& model) {
  return model.half_type() == numerics::HalfType::f16 ? KvType::f16 : KvType::bf16;
}

}  // namespace

tl::expected<void, std::string> validate_numerics(TargetKind kind, RunNumerics numerics) {
  if (has(kind, numerics)) return {};
  return tl::unexpected("--numerics " + std::string(name_of(numerics)) +
                        ": accepted with --target " + std::string(name_of(kind)) +
                        (is_gpu(kind) ? ": auto, canonical, fast" : ": auto, canonical, native"));
}

tl::expected<void, std::string> choose_numerics(TargetOptions& options, const LoadedModel& model) {
  RunNumerics& numerics = options.source.numerics;
  if (auto valid = validate_numerics(options.kind, numerics); !valid) return valid;
  if (!is_gpu(options.kind)) {
    if (numerics == RunNumerics::automatic) numerics = RunNumerics::native;
    return {};
  }
  const bool is_asked_for = numerics == RunNumerics::fast;
  const bool may_be_fast =
      is_asked_for || (numerics == RunNumerics::automatic && options.kind == TargetKind::cuda);
  numerics = RunNumerics::canonical;
  if (!may_be_fast) return {};
  const auto models = fast_models(options, model);
  if (!models) {
    if (is_asked_for) return tl::unexpected("--numerics fast: " + models.error());
    return {};
  }
  if (options.kv == KvType::f32) {
    if (!is_asked_for) return {};
    return tl::unexpected(std::string("--kv f32, accepted with --numerics fast: bf16, f16"));
  }
  numerics = RunNumerics::fast;
  if (!options.kv) options.executor.kv_type = kv_type_of(models->model);
  return {};
}

}  // namespace forge::runtime
