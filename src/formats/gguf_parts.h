// The parts of a GGUF file, in the order in which they follow each other (gguf.h). Each reads its
// part from `in`, where a failure stays.
#pragma once

#include <cstdint>
#include <string_view>

#include "byte_reader.h"
#include "forge/formats/gguf.h"

namespace forge::formats::detail {

/// A key or a tensor's name; `what` is which of them.
std::string_view read_name(ByteReader& in, std::string_view what);

void read_metadata(ByteReader& in, std::uint64_t count, GgufMetadata& metadata);

/// Least bytes of a tensor's description: length and one byte of its name, rank, type, offset.
inline constexpr std::uint64_t kDescriptionBytesMin = 8 + 1 + 4 + 4 + 8;

/// Fills tensors and by_name of `contents`, whose metadata has been read. `file` is the whole file.
void read_tensors(ByteReader& in, std::uint64_t count, std::span<const std::byte> file,
                  GgufContents& contents);

}  // namespace forge::formats::detail
