#include "shared_arena.h"

#include <cstring>

#include "fiber_sanitizers.h"
#include "forge/core/check.h"

namespace forge::simt {
namespace {

constexpr std::size_t kAlignment = 128;
constexpr std::size_t kArraysMax = 32;
/// Each array may begin later by an alignment and is followed by a gap of at least one.
constexpr std::size_t kArenaBytes =
    SharedArena::kBytesMax + kSharedBytesMax + 2 * kAlignment * (kArraysMax + 1);

std::size_t round_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

SharedArena::SharedArena() : memory_(std::make_unique<std::byte[]>(kArenaBytes + kAlignment)) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  bytes_ = memory_.get() + (round_up(address) - address);
  arrays_.reserve(kArraysMax);
  clear(0);
}

SharedArena::~SharedArena() { unpoison(bytes_, kArenaBytes); }

void SharedArena::clear(int dynamic_bytes) {
  arrays_.clear();
  used_ = 0;
  array_bytes_ = 0;
  dynamic_bytes_ = static_cast<std::size_t>(dynamic_bytes);
  poison(bytes_, kArenaBytes);
}

SharedMemory SharedArena::declare(const SharedArray& array) {
  for (const Entry& entry : arrays_) {
    if (entry.declaration == &array) return entry.memory;
  }
  if (!array.dynamic) array_bytes_ += array.bytes;
  FORGE_CHECK(array_bytes_ <= kBytesMax && arrays_.size() < kArraysMax, "shared array ", array.name,
              " of ", array.bytes, " bytes: the block has ", array_bytes_, " of ", kBytesMax,
              " in ", arrays_.size() + 1, " arrays");
  const std::size_t bytes = array.dynamic ? dynamic_bytes_ : array.bytes;
  const SharedMemory memory{.data = bytes_ + used_,
                            .array = static_cast<int>(arrays_.size()),
                            .bytes = bytes,
                            .offset = static_cast<std::uint32_t>(used_)};
  used_ = round_up(used_ + bytes) + kAlignment;
  unpoison(memory.data, bytes);
  std::memset(memory.data, 0xff, bytes);
  arrays_.push_back({&array, memory});
  return memory;
}

}  // namespace forge::simt
