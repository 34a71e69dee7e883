#include "forge/gpu/device.h"

#include <utility>

#include "forge/core/check.h"

namespace forge::gpu {

std::string to_string(const DeviceError& error) {
  return error.call + ": " + error.message + " (device " + error.device + ")";
}

std::string to_string(const LibraryShape& shape) {
  return std::to_string(shape.rows) + " x " + std::to_string(shape.outputs) + " x " +
         std::to_string(shape.inputs) + (shape.type == numerics::HalfType::f16 ? " f16" : " bf16");
}

std::string to_string(const LibraryReport::Admission& admission) {
  return to_string(admission.shape) + ": " + admission.algorithm.name;
}

std::string to_string(const LibraryReport::Refusal& refusal) {
  const std::string algorithm = refusal.algorithm.empty() ? "" : refusal.algorithm + ": ";
  return to_string(refusal.shape) + ": " + algorithm + refusal.reason;
}

Status Stream::multiply(const LibraryProduct& product) {
  FORGE_CHECK(false, "there is no library for the product of ", to_string(product.shape));
}

tl::expected<MatrixLibrary*, std::string> Device::matrix_library() {
  return tl::unexpected(std::string("no vendor's library serves this device"));
}

Buffer::Buffer(Buffer&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      kind_(other.kind_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  std::swap(owner_, taken.owner_);
  std::swap(kind_, taken.kind_);
  std::swap(data_, taken.data_);
  std::swap(bytes_, taken.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (owner_ != nullptr) owner_->release(data_, kind_);
}

}  // namespace forge::gpu
