// CublasLt with a library of our own in place of NVIDIA's: what it asks for, how it lays out a
// product, what it takes for an error, and that one which lies is refused.
#include "cublas_lt.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "cuda/fake_cublas_lt.h"
#include "cuda/fake_runtime.h"
#include "forge/cuda/cuda_device.h"
#include "gpu/test_library.h"
#include "library_trial.h"

namespace forge::testing {
namespace {

using numerics::HalfType;

constexpr gpu::LibraryShape kShape{gpu::kLibraryRowsMin, 40, 72, HalfType::bf16};

class CublasLtTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reset_fake_runtime();
    void* const file = dlopen(cuda::CublasLtFunctions::file_name().c_str(), RTLD_NOW);
    ASSERT_NE(file, nullptr) << dlerror();
    void* const found = dlsym(file, "fake_cublas_lt");
    ASSERT_NE(found, nullptr) << "the real library was found, not the fake";
    fake_ = reinterpret_cast<decltype(&fake_cublas_lt)>(found)();
    *fake_ = {};
    offer({Way::right});
    fake_->multiply = [](const FakeMatmul& product) {
      TestLibrary library({});
      const gpu::LibraryAlgorithm algorithm{.name = "", .opaque = {product.algorithm}};
      library.multiply({.shape = {product.n, product.m, product.k,
                                  product.type == CUDA_R_16F ? HalfType::f16 : HalfType::bf16},
                        .algorithm = &algorithm,
                        .x = product.b,
                        .weights = product.a,
                        .sums = product.d});
    };
    device_ = cuda::open_device().value();
  }

  void TearDown() override {
    device_.reset();
    EXPECT_EQ(fake_->live, 0);
    EXPECT_EQ(live_objects(), 0);
  }

  void offer(std::initializer_list<Way> ways) {
    fake_->algorithms.clear();
    for (const Way way : ways) fake_->algorithms.push_back({static_cast<std::uint64_t>(way)});
  }

  gpu::MatrixLibrary& library() { return *device_->matrix_library().value(); }

  tl::expected<gpu::LibraryReport, gpu::DeviceError> report(HalfType type = HalfType::bf16) {
    return gpu::try_library(*device_, library(), {{kShape.outputs, kShape.inputs, kShape.rows}},
                            type);
  }

  FakeCublasLt* fake_ = nullptr;
  std::unique_ptr<gpu::Device> device_;
};

TEST_F(CublasLtTest, IsKnownByItsVersion) { EXPECT_EQ(library().name(), "cuBLASLt 13.2.5"); }

TEST_F(CublasLtTest, OffersWhatNeedsNoMemoryAndSplitsNothing) {
  fake_->algorithms = {
      {.id = 3, .workspace = 16}, {.id = 4, .parts_of_k = 2}, {.id = 5}, {.id = 6}, {.id = 7}};
  const auto algorithms = library().algorithms(kShape, 2);
  ASSERT_TRUE(algorithms);
  ASSERT_EQ(algorithms->size(), 2U);
  EXPECT_EQ(algorithms->at(0).name,
            "algorithm 5, tile 0, stages 0, inner shape 0, cluster 0, swizzling 0, option 0");
  EXPECT_EQ(algorithms->at(1).opaque[0], 6U);
  EXPECT_EQ(fake_->workspace, 0U);
  EXPECT_EQ(fake_->reduction, 0U);
}

TEST_F(CublasLtTest, IsAdmittedWithTheRightBits) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    const auto tried = report(type);
    ASSERT_TRUE(tried) << to_string(tried.error());
    EXPECT_EQ(tried->library, "cuBLASLt 13.2.5");
    EXPECT_EQ(tried->admitted.size(), 1U);
    EXPECT_TRUE(tried->refused.empty());
  }
}

TEST_F(CublasLtTest, IsRefusedIfItLies) {
  offer({Way::splits, Way::drops_tail, Way::one_bit, Way::unwritten});
  const auto tried = report();
  ASSERT_TRUE(tried) << to_string(tried.error());
  EXPECT_TRUE(tried->admitted.empty());
  ASSERT_EQ(tried->refused.size(), 4U);
  EXPECT_EQ(to_string(tried->refused[2]),
            "16 x 40 x 72 bf16: algorithm 4, tile 0, stages 0, inner shape 0, cluster 0, "
            "swizzling 0, option 0: other sums in 1 of 16 rows of cancelling numbers");
}

TEST_F(CublasLtTest, IsRefusedWhereItHasNothing) {
  offer({});
  const auto tried = report();
  ASSERT_TRUE(tried) << to_string(tried.error());
  ASSERT_EQ(tried->refused.size(), 1U);
  EXPECT_EQ(to_string(tried->refused[0]), "16 x 40 x 72 bf16: no algorithm for it");
}

/// The model then runs with our own kernels.
TEST_F(CublasLtTest, IsRefusedWhereItFails) {
  for (const std::string function :
       {"cublasLtMatrixLayoutCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
    SCOPED_TRACE(function);
    device_ = nullptr;
    device_ = cuda::open_device().value();
    fake_->failing = function;
    const auto tried = report();
    ASSERT_TRUE(tried) << to_string(tried.error());
    EXPECT_EQ(fake_->failing, "");
    EXPECT_TRUE(tried->admitted.empty());
    ASSERT_EQ(tried->refused.size(), 1U);
    EXPECT_NE(tried->refused[0].reason.find(function + ": 16 x 40 x 72 bf16: the fake failed"),
              std::string::npos)
        << tried->refused[0].reason;
  }
}

TEST_F(CublasLtTest, IsMissingIfItDoesNotBegin) {
  fake_->failing = "cublasLtCreate";
  for (int i = 0; i < 2; ++i) {  // and is not asked again
    const auto library = device_->matrix_library();
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error(), "cublasLtCreate: " + cuda::CublasLtFunctions::file_name() +
                                   ": the fake failed (device 0, NVIDIA Fake)");
  }
}

TEST_F(CublasLtTest, IsMissingWhereThereIsNoSuchFile) {
  const cuda::CudaContext context(0, "fake GPU");
  const auto none = cuda::CublasLt::load(context, "libno_such_library.so.13");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().find("libno_such_library.so.13"), std::string::npos) << none.error();
  const auto another = cuda::CublasLt::load(context, "libc.so.6");
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error(), "libc.so.6 lacks cublasLtCreate");
}

}  // namespace
}  // namespace forge::testing
