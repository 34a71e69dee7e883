// SimulatedMemory: arrays that stand for device memory, each as large as its contents, under names
// that the checker reports.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "forge/simt/memory_map.h"

namespace forge::gpu {

class SimulatedMemory {
 public:
  /// Aligned as a device's memory is. The contents are undefined.
  void* allocate(const char* name, std::size_t bytes) {
    arrays_.emplace_back(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    map_.add({reinterpret_cast<std::uintptr_t>(arrays_.back().get()), bytes, name});
    return arrays_.back().get();
  }

  template <class T>
  T* array(const char* name, const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    return static_cast<T*>(std::memcpy(allocate(name, bytes), values.data(), bytes));
  }

  const simt::MemoryMap& map() const { return map_; }

 private:
  static constexpr std::align_val_t kAlignment{256};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };

  std::vector<std::unique_ptr<std::byte, Free>> arrays_;
  simt::MemoryMap map_;
};

}  // namespace forge::gpu
