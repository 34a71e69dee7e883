// WeightUpload: weights on their way to the device, through two rooms of pinned memory: while one
// is copied, the other is filled. So a model needs no memory of the host but these.
//
// Borrows allocator and queue, keeps the device's memory in `buffers` of the caller's. Must not end
// before the queue is idle. Thread contract: none of its own.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "allocator.h"
#include "command_queue.h"
#include "forge/linear/panel_store.h"

namespace forge::gpu {

class WeightUpload final : public linear::PanelStore {
 public:
  /// Without a queue, rooms are counted by the allocator, and nothing else.
  WeightUpload(std::size_t room_bytes, Allocator& allocator, CommandQueue* queue,
               std::vector<Buffer>& buffers);
  /// Waits until nothing reads the rooms.
  ~WeightUpload() override;

  void reserve(std::size_t bytes) override;
  const std::byte* place(std::size_t bytes) override;
  std::size_t room_bytes() const override { return room_bytes_; }
  bool has_failed() const override;
  std::byte* room(std::size_t bytes) override;
  void put() override;

 private:
  struct Room {
    Buffer memory;
    std::unique_ptr<Event> copied;
    bool is_under_way = false;
  };

  std::byte* take(std::size_t bytes);

  std::size_t room_bytes_;
  Allocator& allocator_;
  CommandQueue* queue_;
  std::vector<Buffer>& buffers_;
  std::array<Room, 2> rooms_;
  std::size_t next_room_ = 0;
  std::size_t filled_ = 0;          // of the room
  std::byte* to_ = nullptr;         // of the next room's bytes
  std::byte* reserved_ = nullptr;   // of the next place
  std::size_t reserved_bytes_ = 0;  // that are left
};

}  // namespace forge::gpu
