#include "cublas_lt.h"

#include <algorithm>
#include <cstring>

namespace forge::cuda {
namespace {

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(gpu::LibraryAlgorithm::opaque));

/// Algorithms to ask for: some of those that it offers are left out.
constexpr int kAsked = 16;

cudaDataType type_of(const gpu::LibraryShape& shape) {
  return shape.type == numerics::HalfType::f16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace

/// A product of a shape as the library knows it.
struct CublasLt::Plan {
  template <class Object>
  using Owned = std::unique_ptr<Object, cublasStatus_t (*)(Object*)>;

  explicit Plan(const CublasLtFunctions& functions)
      : product(nullptr, functions.cublasLtMatmulDescDestroy),
        weights(nullptr, functions.cublasLtMatrixLayoutDestroy),
        x(nullptr, functions.cublasLtMatrixLayoutDestroy),
        sums(nullptr, functions.cublasLtMatrixLayoutDestroy) {}

  Owned<cublasLtMatmulDescOpaque_t> product;
  Owned<cublasLtMatrixLayoutOpaque_t> weights;
  Owned<cublasLtMatrixLayoutOpaque_t> x;
  Owned<cublasLtMatrixLayoutOpaque_t> sums;
};

tl::expected<std::unique_ptr<CublasLt>, std::string> CublasLt::load(const CudaContext& context,
                                                                    const std::string& file) {
  const auto functions = CublasLtFunctions::load(file);
  if (!functions) return tl::unexpected(functions.error());
  std::unique_ptr<CublasLt> loaded(new CublasLt(context, *functions));
  const auto created = loaded->run(
      "cublasLtCreate", [&] { return loaded->functions_.cublasLtCreate(&loaded->handle_); },
      [&] { return file; });
  if (!created) return tl::unexpected(to_string(created.error()));
  return loaded;
}

CublasLt::CublasLt(const CudaContext& context, const CublasLtFunctions& functions)
    : context_(context), functions_(functions) {}

CublasLt::~CublasLt() {
  plans_.clear();
  if (handle_ != nullptr) functions_.cublasLtDestroy(handle_);
}

/// A version is 10000 major + 100 minor + patch.
std::string CublasLt::name() const {
  const std::size_t version = functions_.cublasLtGetVersion();
  return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

template <class Body, class Purpose>
gpu::Status CublasLt::run(const char* name, const Body& body, const Purpose& purpose) const {
  cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
  auto on_device = context_.run(
      name,
      [&] {
        code = body();
        return cudaSuccess;
      },
      purpose);
  if (!on_device || code == CUBLAS_STATUS_SUCCESS) return on_device;
  return tl::unexpected(
      gpu::DeviceError{.call = name,
                       .message = purpose() + ": " + functions_.cublasLtGetStatusString(code),
                       .device = context_.device()});
}

tl::expected<const CublasLt::Plan*, gpu::DeviceError> CublasLt::plan_of(
    const gpu::LibraryShape& shape) {
  const auto known = std::ranges::find(
      plans_, shape, [](const auto& plan) -> auto& { return plan.first; });
  if (known != plans_.end()) return known->second.get();
  const CublasLtFunctions& f = functions_;
  const auto purpose = [&] { return to_string(shape); };
  auto plan = std::make_unique<Plan>(f);
  gpu::Status status;
  const auto lay_out = [&](auto& to, cudaDataType type, int rows, int columns) {
    cublasLtMatrixLayout_t layout = nullptr;
    if (!status) return;
    status = run(
        "cublasLtMatrixLayoutCreate",
        [&] {
          return f.cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), rows);
        },
        purpose);
    to.reset(layout);
  };
  lay_out(plan->weights, type_of(shape), shape.inputs, shape.outputs);
  lay_out(plan->x, type_of(shape), shape.inputs, shape.rows);
  lay_out(plan->sums, CUDA_R_32F, shape.outputs, shape.rows);
  if (!status) return tl::unexpected(std::move(status.error()));
  cublasLtMatmulDesc_t product = nullptr;
  status = run(
      "cublasLtMatmulDescCreate",
      [&] { return f.cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F); },
      purpose);
  if (!status) return tl::unexpected(std::move(status.error()));
  plan->product.reset(product);
  constexpr cublasOperation_t kTransposed = CUBLAS_OP_T;
  status = run(
      "cublasLtMatmulDescSetAttribute",
      [&] {
        return f.cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &kTransposed,
                                                sizeof kTransposed);
      },
      purpose);
  if (!status) return tl::unexpected(std::move(status.error()));
  return plans_.emplace_back(shape, std::move(plan)).second.get();
}

/// No workspace, no reduction; matrices on multiples of 16 bytes.
tl::expected<CublasLt::Preference, gpu::DeviceError> CublasLt::preference(
    const gpu::LibraryShape& shape) const {
  const CublasLtFunctions& f = functions_;
  const auto purpose = [&] { return to_string(shape); };
  cublasLtMatmulPreference_t created = nullptr;
  gpu::Status status = run(
      "cublasLtMatmulPreferenceCreate", [&] { return f.cublasLtMatmulPreferenceCreate(&created); },
      purpose);
  if (!status) return tl::unexpected(std::move(status.error()));
  Preference preference(created, f.cublasLtMatmulPreferenceDestroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    if (!status) return;
    status = run(
        "cublasLtMatmulPreferenceSetAttribute",
        [&] {
          return f.cublasLtMatmulPreferenceSetAttribute(created, attribute, &value, sizeof value);
        },
        purpose);
  };
  constexpr std::size_t kNoWorkspace = 0;
  constexpr std::uint32_t kNoReduction = CUBLASLT_REDUCTION_SCHEME_NONE;
  constexpr std::uint32_t kAlignment = 16;
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kNoWorkspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kNoReduction);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(attribute, kAlignment);
  }
  if (!status) return tl::unexpected(std::move(status.error()));
  return preference;
}

tl::expected<std::vector<gpu::LibraryAlgorithm>, gpu::DeviceError> CublasLt::algorithms(
    const gpu::LibraryShape& shape, int most) {
  const auto plan = plan_of(shape);
  if (!plan) return tl::unexpected(plan.error());
  const auto preference = this->preference(shape);
  if (!preference) return tl::unexpected(preference.error());
  const Plan& p = **plan;
  std::array<cublasLtMatmulHeuristicResult_t, kAsked> results{};
  int found = 0;
  const auto asked = run(
      "cublasLtMatmulAlgoGetHeuristic",
      [&] {
        const cublasStatus_t code = functions_.cublasLtMatmulAlgoGetHeuristic(
            handle_, p.product.get(), p.weights.get(), p.x.get(), p.sums.get(), p.sums.get(),
            preference->get(), kAsked, results.data(), &found);
        return code == CUBLAS_STATUS_NOT_SUPPORTED ? CUBLAS_STATUS_SUCCESS : code;  // it has none
      },
      [&] { return to_string(shape); });
  if (!asked) return tl::unexpected(asked.error());
  std::vector<gpu::LibraryAlgorithm> algorithms;
  for (int i = 0; i < found && static_cast<int>(algorithms.size()) < most; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
    if (result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > 0) continue;
    if (auto algorithm = described(result.algo)) algorithms.push_back(*std::move(algorithm));
  }
  return algorithms;
}

std::optional<gpu::LibraryAlgorithm> CublasLt::described(
    const cublasLtMatmulAlgo_t& algorithm) const {
  const auto number = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    // Of 2 or 4 bytes; an algorithm that does not know it leaves 0.
    std::uint32_t value = 0;
    std::size_t written = 0;
    const std::size_t bytes = attribute == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ||
                                      attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID
                                  ? sizeof(std::uint16_t)
                                  : sizeof(std::uint32_t);
    functions_.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, bytes, &written);
    return value;
  };
  if (number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) > 1) return std::nullopt;
  if (number(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) != CUBLASLT_REDUCTION_SCHEME_NONE) {
    return std::nullopt;
  }
  const auto part = [&](const char* name, cublasLtMatmulAlgoConfigAttributes_t attribute) {
    return std::string(name) + std::to_string(number(attribute));
  };
  gpu::LibraryAlgorithm described{
      .name = part("algorithm ", CUBLASLT_ALGO_CONFIG_ID) +
              part(", tile ", CUBLASLT_ALGO_CONFIG_TILE_ID) +
              part(", stages ", CUBLASLT_ALGO_CONFIG_STAGES_ID) +
              part(", inner shape ", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID) +
              part(", cluster ", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID) +
              part(", swizzling ", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING) +
              part(", option ", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION),
      .opaque = {}};
  std::memcpy(described.opaque.data(), &algorithm, sizeof algorithm);
  return described;
}

gpu::Status CublasLt::multiply(const gpu::LibraryProduct& product, cudaStream_t stream) {
  const auto plan = plan_of(product.shape);
  if (!plan) return tl::unexpected(plan.error());
  const Plan& p = **plan;
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, product.algorithm->opaque.data(), sizeof algorithm);
  constexpr float kOne = 1;
  constexpr float kZero = 0;
  return run(
      "cublasLtMatmul",
      [&] {
        return functions_.cublasLtMatmul(handle_, p.product.get(), &kOne, product.weights,
                                         p.weights.get(), product.x, p.x.get(), &kZero,
                                         product.sums, p.sums.get(), product.sums, p.sums.get(),
                                         &algorithm, nullptr, 0, stream);
      },
      [&] { return to_string(product.shape); });
}

tl::expected<CublasLt*, std::string> LazyCublasLt::get() {
  if (!loaded_) loaded_ = CublasLt::load(context_, CublasLtFunctions::file_name());
  if (!*loaded_) return tl::unexpected(loaded_->error());
  return (*loaded_)->get();
}

}  // namespace forge::cuda
