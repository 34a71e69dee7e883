#include "forge/gpu/device.h"

#include <utility>

namespace forge::gpu {

std::string to_string(const DeviceError& error) {
  return error.call + ": " + error.message + " (device " + error.device + ")";
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
