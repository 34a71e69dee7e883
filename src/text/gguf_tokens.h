// Names and numbers of GGUF's tokenizer.ggml.*, for its reader and its writer.
#pragma once

#include <cstdint>
#include <string_view>

namespace forge::text::detail {

/// What its keys start with.
inline constexpr std::string_view kGgufPrefix = "tokenizer.ggml.";

/// Types of tokens, by their numbers in tokenizer.ggml.token_type.
namespace gguf_token {
inline constexpr std::int32_t kNormal = 1;
inline constexpr std::int32_t kUnknown = 2;
inline constexpr std::int32_t kControl = 3;
inline constexpr std::int32_t kUserDefined = 4;
inline constexpr std::int32_t kUnused = 5;
inline constexpr std::int32_t kByte = 6;
}  // namespace gguf_token

}  // namespace forge::text::detail
