#include "peers_blas_lt.h"

#include "cublas_lt_functions.h"
#include "peers_memory.h"
#include "peers_stream.h"

namespace forge {
namespace {

using Functions = cuda::CublasLtFunctions;
using Status = LibraryStream::Status;

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

Status blas_status(const char* call, cublasStatus_t code) {
  if (code == CUBLAS_STATUS_SUCCESS) return {};
  return tl::unexpected(std::string(call) + ": status " + std::to_string(code));
}

/// Matrices are column by column there, so that is y^T [N][rows] = W [N][K] times x^T [K][rows].
class BlasLtProducts final : public ProductLevel {
 public:
  static ProductMaker::Made create(gpu::Device& device, const ProductOperands& operands) {
    const auto blas = Functions::load(Functions::file_name());
    if (!blas) return tl::unexpected(blas.error());
    auto stream = LibraryStream::create();
    if (!stream) return tl::unexpected(stream.error());
    auto made = std::make_unique<BlasLtProducts>(*blas, *std::move(stream), device, operands);
    if (const Status ready = made->prepare(); !ready) return tl::unexpected(ready.error());
    return made;
  }

  BlasLtProducts(const Functions& blas, std::unique_ptr<LibraryStream> stream, gpu::Device& device,
                 const ProductOperands& operands)
      : blas_(blas),
        operands_(operands),
        workspace_(PeerMemory(device).allocate(kWorkspaceBytes, "workspace of cuBLASLt")),
        stream_(std::move(stream)) {}
  BlasLtProducts(const BlasLtProducts&) = delete;
  BlasLtProducts& operator=(const BlasLtProducts&) = delete;

  ~BlasLtProducts() override {
    destroy_row_layouts();
    if (weights_ != nullptr) blas_.cublasLtMatrixLayoutDestroy(weights_);
    if (preference_ != nullptr) blas_.cublasLtMatmulPreferenceDestroy(preference_);
    if (product_ != nullptr) blas_.cublasLtMatmulDescDestroy(product_);
    if (handle_ != nullptr) blas_.cublasLtDestroy(handle_);
  }

  Status plan(int rows) override {
    destroy_row_layouts();
    Status status = create_layout(x_, CUDA_R_16BF, operands_.shape.inputs, rows);
    if (status) status = create_layout(y_, CUDA_R_32F, operands_.shape.outputs, rows);
    if (!status) return status;
    int found = 0;
    cublasLtMatmulHeuristicResult_t choice{};
    status = blas_status("cublasLtMatmulAlgoGetHeuristic",
                         blas_.cublasLtMatmulAlgoGetHeuristic(handle_, product_, weights_, x_, y_,
                                                              y_, preference_, 1, &choice, &found));
    if (status && found == 0) return tl::unexpected(std::string("cublasLt knows no algorithm"));
    if (status) status = blas_status("cublasLtMatmulAlgoGetHeuristic", choice.state);
    algorithm_ = choice.algo;
    return status;
  }

  Status multiply() override {
    const Status queued = queue(0);
    return queued ? stream_->synchronize() : queued;
  }

  tl::expected<double, std::string> time_us(int launches) override {
    return stream_->in_graph_us(launches, [&](int i) { return queue(i % operands_.matrices); });
  }

 private:
  Status prepare() {
    const cublasOperation_t transposed = CUBLAS_OP_T;
    Status status = blas_status("cublasLtCreate", blas_.cublasLtCreate(&handle_));
    if (status) {
      status =
          blas_status("cublasLtMatmulDescCreate",
                      blas_.cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    }
    if (status) {
      status =
          blas_status("cublasLtMatmulDescSetAttribute",
                      blas_.cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA,
                                                           &transposed, sizeof(transposed)));
    }
    if (status) {
      status =
          create_layout(weights_, CUDA_R_16BF, operands_.shape.inputs, operands_.shape.outputs);
    }
    if (status) {
      status = blas_status("cublasLtMatmulPreferenceCreate",
                           blas_.cublasLtMatmulPreferenceCreate(&preference_));
    }
    if (!status) return status;
    return blas_status("cublasLtMatmulPreferenceSetAttribute",
                       blas_.cublasLtMatmulPreferenceSetAttribute(
                           preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                           sizeof(kWorkspaceBytes)));
  }

  Status create_layout(cublasLtMatrixLayout_t& layout, cudaDataType type, int numbers,
                       int vectors) {
    return blas_status(
        "cublasLtMatrixLayoutCreate",
        blas_.cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(numbers),
                                         static_cast<std::uint64_t>(vectors), numbers));
  }

  void destroy_row_layouts() {
    for (cublasLtMatrixLayout_t* const layout : {&x_, &y_}) {
      if (*layout != nullptr) blas_.cublasLtMatrixLayoutDestroy(*layout);
      *layout = nullptr;
    }
  }

  Status queue(int matrix) {
    const float one = 1;
    const float zero = 0;
    return blas_status(
        "cublasLtMatmul",
        blas_.cublasLtMatmul(handle_, product_, &one, operands_.matrix(matrix), weights_,
                             operands_.x, x_, &zero, operands_.y, y_, operands_.y, y_, &algorithm_,
                             workspace_.as<void>(), kWorkspaceBytes, stream_->get()));
  }

  Functions blas_;
  ProductOperands operands_;
  gpu::Buffer workspace_;
  std::unique_ptr<LibraryStream> stream_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatrixLayout_t weights_ = nullptr;
  cublasLtMatrixLayout_t x_ = nullptr;  // of the planned rows
  cublasLtMatrixLayout_t y_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace

ProductMaker blas_lt_products() { return {"cublasLt", BlasLtProducts::create}; }

}  // namespace forge
