// FlatMap: 64-bit keys to small values in one array, for the tables that every token looks at.
//
// Open addressing with linear probing, at most half full. Keys are hashed by multiplication
// (Knuth, The Art of Computer Programming 3, 6.4) and never by address, so nothing depends on where
// it lies. Grows only; no order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace forge::text::detail {

template <class Value>
class FlatMap {
 public:
  /// A key that cannot be added.
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

  FlatMap() : slots_(16) {}

  /// Returns: whether the key was not there yet; the value stays if it was.
  bool add(std::uint64_t key, const Value& value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    if (slot.key == key) return false;
    slot = {key, value};
    ++size_;
    return true;
  }

  /// The value, or null.
  const Value* find(std::uint64_t key) const {
    const Slot& slot = slots_[place_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = kNoKey;
    Value value = {};
  };

  /// The place of the key, or of the free slot where it would be.
  std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t product = key * 0x9E3779B97F4A7C15U;
    std::size_t at = static_cast<std::size_t>(product ^ product >> 32U) & mask;
    while (slots_[at].key != kNoKey && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    for (const Slot& slot : old) {
      if (slot.key != kNoKey) slots_[place_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace forge::text::detail
