// What a fuzzer does with bytes that may be a GGUF file.
#pragma once

#include <cstddef>
#include <span>

namespace forge::formats::testing {

/// Parses `file` and, if it can be read, touches every byte that metadata and tensors point to.
/// Aborts where what was read breaks a promise of gguf.h. Returns: whether it can be read.
bool read_gguf(std::span<const std::byte> file);

}  // namespace forge::formats::testing
