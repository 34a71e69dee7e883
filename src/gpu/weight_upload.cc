#include "weight_upload.h"

#include "forge/core/check.h"

namespace forge::gpu {

WeightUpload::WeightUpload(std::size_t room_bytes, Allocator& allocator, CommandQueue* queue,
                           std::vector<Buffer>& buffers)
    : room_bytes_(room_bytes), allocator_(allocator), queue_(queue), buffers_(buffers) {
  for (Room& room : rooms_) {
    room.memory = allocator.take<std::byte>(MemoryKind::pinned, room_bytes, "room for weights");
    room.copied = allocator.event();
  }
}

WeightUpload::~WeightUpload() {
  if (queue_ != nullptr) queue_->drain();
}

bool WeightUpload::has_failed() const {
  return !allocator_.status() || (queue_ != nullptr && !queue_->status());
}

void WeightUpload::reserve(std::size_t bytes) {
  reserved_ = take(bytes);
  reserved_bytes_ = bytes;
}

const std::byte* WeightUpload::place(std::size_t bytes) {
  if (reserved_bytes_ == 0) return to_ = take(bytes);
  FORGE_CHECK(bytes <= reserved_bytes_, "bytes=", bytes, " reserved=", reserved_bytes_);
  to_ = reserved_;
  if (reserved_ != nullptr) reserved_ += bytes;
  reserved_bytes_ -= bytes;
  return to_;
}

std::byte* WeightUpload::room(std::size_t bytes) {
  FORGE_CHECK(bytes <= room_bytes_, "bytes=", bytes, " room=", room_bytes_);
  if (queue_ == nullptr || has_failed()) return nullptr;
  Room& room = rooms_[next_room_];
  if (room.is_under_way) queue_->synchronize(*room.copied);
  filled_ = bytes;
  return room.memory.as<std::byte>();
}

void WeightUpload::put() {
  Room& room = rooms_[next_room_];
  queue_->copy(to_, room.memory.as<std::byte>(), filled_, CopyDirection::to_device);
  queue_->record(*room.copied);
  room.is_under_way = true;
  to_ += filled_;
  next_room_ = 1 - next_room_;
}

/// Null if the allocator has failed, or only counts.
std::byte* WeightUpload::take(std::size_t bytes) {
  Buffer buffer = allocator_.take<std::byte>(MemoryKind::device, bytes, "weights");
  auto* const data = buffer.as<std::byte>();
  if (data != nullptr) buffers_.push_back(std::move(buffer));
  return data;
}

}  // namespace forge::gpu
