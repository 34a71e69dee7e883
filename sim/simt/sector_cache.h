// SectorCache: a fully associative cache of 32-byte sectors; the least recently used one goes.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "traffic_request.h"

namespace forge::simt {

class SectorCache {
 public:
  explicit SectorCache(std::uint64_t bytes);

  /// Returns: whether the cache had all the bytes. If not, it has the whole sector now.
  bool read(const SectorBytes& part);

  /// Puts bytes into the cache, where they wait to be written back.
  void write(const SectorBytes& part);

  /// Sectors written back so far. Those that still wait are not in it.
  std::uint64_t written_back() const { return written_back_; }
  /// Sectors that wait.
  std::uint64_t waiting() const { return waiting_; }

 private:
  struct Line {
    std::uintptr_t sector;
    std::uint32_t valid;  ///< bytes
    bool waits;
  };
  using Lines = std::list<Line>;  // most recently used first

  Line& touch(std::uintptr_t sector);

  std::size_t lines_max_;
  Lines lines_;
  std::unordered_map<std::uintptr_t, Lines::iterator> where_;
  std::uint64_t written_back_ = 0;
  std::uint64_t waiting_ = 0;
};

}  // namespace forge::simt
