// What a fuzzer does with bytes that may be a SafeTensors file or an index.
#pragma once

#include <cstddef>
#include <span>

namespace forge::formats::testing {

/// Parses `file` and, if it can be read, touches every byte of its tensors. Aborts where what was
/// read breaks a promise of safetensors.h. Returns: whether it can be read.
bool read_safetensors(std::span<const std::byte> file);

/// Likewise an index.
bool read_safetensors_index(std::span<const std::byte> file);

/// Bytes as a fuzzer makes them, in three ways: as a file, as an index, and as header and data of a
/// file whose length fits them; the header ends with the last bracket. Returns: how many could be
/// read.
int read_in_every_way(std::span<const std::byte> bytes);

}  // namespace forge::formats::testing
