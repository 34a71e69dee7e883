// JSON from a stranger as a tree, at a price that is in proportion to its bytes.
//
// A parser for all purposes nests as deep as the text does, which costs 70 bytes for each "[" of
// it, takes the last of two equal keys and stops at a zero byte without a word. Here each of these
// ends the reading where it stands: nothing is built from there on.
//
// Pure, thread-safe, but for open_json, which opens a file.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/formats/file_error.h"
#include "forge/formats/mapped_file.h"

namespace forge::formats {

/// The deepest nesting of objects and arrays: several times what any checkpoint's files have.
inline constexpr int kJsonTreeDepthMax = 32;

/// Errors, with the byte where there is one: `text` is not one JSON value; it has a zero byte, a
/// number beyond those of a double, or a key twice in one object; it nests deeper than
/// kJsonTreeDepthMax. `path` is for them.
tl::expected<nlohmann::json, FileError> parse_json_tree(std::string_view text,
                                                        const std::string& path);

/// The file, mapped. Errors: those of MappedFile; it has more than `bytes_max` bytes.
tl::expected<MappedFile, FileError> open_json(const std::string& path, std::uint64_t bytes_max);

/// All of it as text, valid as long as the file.
std::string_view text_of(const MappedFile& file);

}  // namespace forge::formats
