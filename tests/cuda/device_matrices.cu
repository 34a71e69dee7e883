#include <cuda_runtime.h>

#include "cuda/device_matrices.h"
#include "forge/core/check.h"
#include "simt/matrix_kernels.cuh"

namespace forge::testing {
namespace {

void require(cudaError_t code, const char* call) {
  FORGE_CHECK(code == cudaSuccess, call, ": ", cudaGetErrorString(code));
}

/// Memory of the device with these values, or with room for so many.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count) : count_(count) {
    require(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
  }
  explicit OnDevice(std::span<const T> values) : OnDevice(values.size()) {
    require(cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
            "cudaMemcpy");
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* data() const { return data_; }
  void read(T* to) const {
    require(cudaMemcpy(to, data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

}  // namespace

std::vector<float> product_on_device(std::span<const numerics::BF16> x,
                                     std::span<const numerics::BF16> w, int rows, int inputs) {
  using simt::ProductArgs;
  const auto outputs = w.size() / static_cast<std::size_t>(inputs);
  const OnDevice<numerics::BF16> factors(x);
  const OnDevice<numerics::BF16> weights(w);
  std::vector<float> y(static_cast<std::size_t>(rows) * outputs);
  const OnDevice<float> out(y.size());
  const ProductArgs args{.x = factors.data(),
                         .w = weights.data(),
                         .y = out.data(),
                         .rows = rows,
                         .inputs = inputs,
                         .omission = simt::Omission::nothing};
  const auto blocks = static_cast<unsigned>(outputs / ProductArgs::kOutputs);
  kernels::cuda::product<<<blocks, ProductArgs::kThreads, ProductArgs::kSharedBytes>>>(args);
  require(cudaGetLastError(), "launch");
  out.read(y.data());
  return y;
}

MatrixWordsOutputs words_on_device(const std::array<std::uint32_t, 192>& rows) {
  const OnDevice<std::uint32_t> factors{std::span<const std::uint32_t>(rows)};
  const OnDevice<float> bf16(128);
  const OnDevice<float> f16(128);
  const OnDevice<std::int32_t> s8(128);
  const OnDevice<std::uint16_t> transposed(256);
  const simt::MatrixWordsArgs args{.a = factors.data(),
                                   .b = factors.data() + 128,
                                   .bf16 = bf16.data(),
                                   .f16 = f16.data(),
                                   .s8 = s8.data(),
                                   .transposed = transposed.data(),
                                   .absent_lane = -1};
  kernels::cuda::words<<<1, simt::MatrixWordsArgs::kThreads>>>(args);
  require(cudaGetLastError(), "launch");
  MatrixWordsOutputs outputs{};
  bf16.read(outputs.bf16.data());
  f16.read(outputs.f16.data());
  s8.read(outputs.s8.data());
  transposed.read(outputs.transposed.data());
  return outputs;
}

}  // namespace forge::testing
