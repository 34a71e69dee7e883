// ShadowMemory: a Cell beside each word (4 bytes) of the memory that has been touched. A page that
// is touched in smaller parts, as arrays of bytes or halves are, has a Cell for each byte instead.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace forge::simt {

template <class Cell>
class ShadowMemory {
 public:
  static constexpr std::uintptr_t kPageBytes = 1024;
  static constexpr std::uintptr_t kWord = 4;

  /// Calls f(address, bytes, cell) for each cell of [address, address + bytes), in order.
  template <class F>
  void for_each(std::uintptr_t address, std::size_t bytes, const F& f) {
    const std::uintptr_t end = address + bytes;
    const bool words = address % kWord == 0 && bytes % kWord == 0;
    while (address < end) {
      Page& page = page_of(address);
      if (!words) page.split();
      const std::uintptr_t page_end = std::min(end, (address / kPageBytes + 1) * kPageBytes);
      for (; address < page_end; address += page.granule) {
        f(address, page.granule, page.cells[address % kPageBytes / page.granule]);
      }
    }
  }

  /// Calls f(cell) for each cell of the range that a for_each has made. From several threads.
  template <class F>
  void for_each_known(std::uintptr_t address, std::size_t bytes, const F& f) const {
    const std::uintptr_t end = address + bytes;
    while (address < end) {
      const std::uintptr_t page_end = std::min(end, (address / kPageBytes + 1) * kPageBytes);
      if (const auto found = pages_.find(address / kPageBytes); found != pages_.end()) {
        const Page& page = *found->second;
        for (; address < page_end; address += page.granule - address % page.granule) {
          f(page.cells[address % kPageBytes / page.granule]);
        }
      }
      address = page_end;
    }
  }

  /// Does the same for all pages, in ascending order of addresses.
  template <class F>
  void for_all(const F& f) {
    std::vector<std::uintptr_t> numbers;
    for (const auto& [number, page] : pages_) numbers.push_back(number);
    std::sort(numbers.begin(), numbers.end());
    for (const std::uintptr_t number : numbers) for_each(number * kPageBytes, kPageBytes, f);
  }

 private:
  struct Page {
    std::uintptr_t granule = kWord;
    std::vector<Cell> cells = std::vector<Cell>(kPageBytes / kWord);

    void split() {
      if (granule == 1) return;
      std::vector<Cell> bytes(kPageBytes);
      for (std::size_t i = 0; i < kPageBytes; ++i) bytes[i] = cells[i / kWord];
      cells = std::move(bytes);
      granule = 1;
    }
  };
  struct Recent {
    std::uintptr_t number = ~std::uintptr_t{0};
    Page* page = nullptr;
  };

  Page& page_of(std::uintptr_t address) {
    const std::uintptr_t number = address / kPageBytes;
    Recent& recent = recent_[(number ^ (number >> 5)) % recent_.size()];
    if (recent.number != number) {
      std::unique_ptr<Page>& page = pages_[number];
      if (page == nullptr) page = std::make_unique<Page>();
      recent = {number, page.get()};
    }
    return *recent.page;
  }

  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;  ///< by number
  std::array<Recent, 32> recent_;
};

}  // namespace forge::simt
