#include "cuda/fake_cublas_lt.h"

#include <cstring>

namespace {

forge::testing::FakeCublasLt fake;

/// What it keeps in the opaque objects of its callers.
struct Layout {
  cudaDataType type;
  std::uint64_t rows;
  std::uint64_t columns;
  std::int64_t stride;
};

template <class Kept, class Opaque>
Kept& kept(Opaque* object) {
  static_assert(sizeof(Kept) <= sizeof(Opaque));
  return *reinterpret_cast<Kept*>(object->data);
}

cublasStatus_t answer(const char* function) {
  if (fake.failing != function) return CUBLAS_STATUS_SUCCESS;
  fake.failing.clear();
  return CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class Object>
cublasStatus_t create(const char* function, Object** object) {
  if (const cublasStatus_t code = answer(function); code != CUBLAS_STATUS_SUCCESS) return code;
  *object = new Object{};
  ++fake.live;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Object>
cublasStatus_t destroy(Object* object) {
  delete object;
  --fake.live;
  return CUBLAS_STATUS_SUCCESS;
}

/// Whether rows and columns are those of op(A) B, and nothing lies between columns.
bool fit(const Layout& a, const Layout& b, const Layout& d, cublasOperation_t transposed) {
  const bool dense = a.stride == static_cast<std::int64_t>(a.rows) &&
                     b.stride == static_cast<std::int64_t>(b.rows) &&
                     d.stride == static_cast<std::int64_t>(d.rows);
  return dense && transposed == CUBLAS_OP_T && a.rows == b.rows && d.rows == a.columns &&
         d.columns == b.columns && a.type == b.type && d.type == CUDA_R_32F;
}

}  // namespace

struct cublasLtContext {};

extern "C" {

forge::testing::FakeCublasLt* fake_cublas_lt() { return &fake; }

size_t cublasLtGetVersion() { return 130205; }
const char* cublasLtGetStatusString(cublasStatus_t code) {
  return code == CUBLAS_STATUS_EXECUTION_FAILED ? "the fake failed" : "another answer";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return create("cublasLtCreate", handle); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  const cublasStatus_t code = create("cublasLtMatrixLayoutCreate", layout);
  if (code == CUBLAS_STATUS_SUCCESS) kept<Layout>(*layout) = {type, rows, columns, stride};
  return code;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  const cublasStatus_t code = create("cublasLtMatmulDescCreate", product);
  if (code == CUBLAS_STATUS_SUCCESS) kept<cublasOperation_t>(*product) = CUBLAS_OP_N;
  return code;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) { return destroy(product); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  if (attribute != CUBLASLT_MATMUL_DESC_TRANSA || bytes != sizeof(cublasOperation_t)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(&kept<cublasOperation_t>(product), value, bytes);
  return answer("cublasLtMatmulDescSetAttribute");
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create("cublasLtMatmulPreferenceCreate", preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    std::memcpy(&fake.workspace, value, bytes);
  }
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
    std::memcpy(&fake.reduction, value, bytes);
  }
  return answer("cublasLtMatmulPreferenceSetAttribute");
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  *found = 0;
  for (const forge::testing::FakeAlgorithm& algorithm : fake.algorithms) {
    if (*found == most) break;
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result.algo.data[0] = algorithm.id;
    result.algo.data[1] = algorithm.parts_of_k;
    result.workspaceSize = algorithm.workspace;
    result.state = CUBLAS_STATUS_SUCCESS;
  }
  if (fake.algorithms.empty()) return CUBLAS_STATUS_NOT_SUPPORTED;
  return answer("cublasLtMatmulAlgoGetHeuristic");
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, size_t bytes, size_t* written) {
  std::uint32_t number = 0;
  if (attribute == CUBLASLT_ALGO_CONFIG_ID) number = static_cast<std::uint32_t>(algorithm->data[0]);
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) {
    number = static_cast<std::uint32_t>(algorithm->data[1]);
  }
  std::memcpy(value, &number, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t,
                              cudaStream_t) {
  if (const auto code = answer("cublasLtMatmul"); code != CUBLAS_STATUS_SUCCESS) return code;
  const Layout& of_a = kept<Layout>(a_layout);
  const Layout& of_b = kept<Layout>(b_layout);
  const bool plain = *static_cast<const float*>(alpha) == 1 &&
                     *static_cast<const float*>(beta) == 0 && c == d && workspace == nullptr;
  if (!plain || !fit(of_a, of_b, kept<Layout>(d_layout), kept<cublasOperation_t>(product))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  fake.multiply({.n = static_cast<int>(of_b.columns),
                 .m = static_cast<int>(of_a.columns),
                 .k = static_cast<int>(of_a.rows),
                 .type = of_a.type,
                 .a = a,
                 .b = b,
                 .d = static_cast<float*>(d),
                 .algorithm = algorithm->data[0]});
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
