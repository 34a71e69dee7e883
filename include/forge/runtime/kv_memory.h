// KvMemory: how much memory the KV cache may take, as --kv-memory says it: "2GiB", "512MiB", or a
// fraction of the memory that is free, "40%".
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace forge::runtime {

struct KvMemory {
  std::uint64_t bytes = 0;  ///< 0: by fraction
  double fraction = 0;      ///< of the free memory, up to 1; both 0: not given

  bool given() const { return bytes > 0 || fraction > 0; }

  /// The number of bytes that it means when `free_bytes` are free.
  std::uint64_t of(std::uint64_t free_bytes) const;

  friend bool operator==(const KvMemory&, const KvMemory&) = default;
};

/// A number with B, KiB, MiB, GiB, TiB (KB, MB, GB, TB in thousands) or %. Errors: the text, and
/// what is accepted.
tl::expected<KvMemory, std::string> parse_kv_memory(const std::string& text);

/// "1.5 GiB", "312 MiB", "18 B"
std::string bytes_text(std::uint64_t bytes);

}  // namespace forge::runtime
