// CublasLt: NVIDIA's library of matrix products, as a device's MatrixLibrary. It is looked up when
// somebody asks for it (cublas_lt_functions.h).
//
// It sees matrices column by column, so that sums [rows][N] = x W^T, row by row, is to it
//
//   D [N x rows] = op(A) B     A = W, K x N, transposed; B = x, K x rows; each column consecutive
//
// Asked for are algorithms without workspace and without reduction over parts of K; of those that
// it offers, the ones that say that they split K are left out.
//
// Thread contract: as gpu::Device.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cublas_lt_functions.h"
#include "cuda_context.h"

namespace forge::cuda {

class CublasLt final : public gpu::MatrixLibrary {
 public:
  /// Errors: those of CublasLtFunctions::load(); it does not begin.
  static tl::expected<std::unique_ptr<CublasLt>, std::string> load(const CudaContext& context,
                                                                   const std::string& file);
  ~CublasLt() override;
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  std::string name() const override;
  tl::expected<std::vector<gpu::LibraryAlgorithm>, gpu::DeviceError> algorithms(
      const gpu::LibraryShape& shape, int most) override;
  gpu::Status multiply(const gpu::LibraryProduct& product, cudaStream_t stream);

 private:
  struct Plan;
  using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                                     cublasStatus_t (*)(cublasLtMatmulPreference_t)>;

  CublasLt(const CudaContext& context, const CublasLtFunctions& functions);

  /// Runs `body`, which calls the library's function `name` and returns its answer. purpose(): what
  /// for. The library uses the runtime's current device, which is a property of the thread.
  template <class Body, class Purpose>
  gpu::Status run(const char* name, const Body& body, const Purpose& purpose) const;

  tl::expected<const Plan*, gpu::DeviceError> plan_of(const gpu::LibraryShape& shape);
  tl::expected<Preference, gpu::DeviceError> preference(const gpu::LibraryShape& shape) const;
  /// Nothing if it says that it splits K.
  std::optional<gpu::LibraryAlgorithm> described(const cublasLtMatmulAlgo_t& algorithm) const;

  const CudaContext& context_;
  CublasLtFunctions functions_;
  cublasLtHandle_t handle_ = nullptr;
  /// What the library is told of each shape.
  std::vector<std::pair<gpu::LibraryShape, std::unique_ptr<const Plan>>> plans_;
};

/// The library of a device, loaded when it is first asked for.
class LazyCublasLt {
 public:
  explicit LazyCublasLt(const CudaContext& context) : context_(context) {}

  /// Errors: those of CublasLt::load(), the first time and ever after.
  tl::expected<CublasLt*, std::string> get();

 private:
  const CudaContext& context_;
  std::optional<tl::expected<std::unique_ptr<CublasLt>, std::string>> loaded_;
};

}  // namespace forge::cuda
