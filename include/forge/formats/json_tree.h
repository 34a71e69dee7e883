// Files of JSON: how they are opened, and what is wrong with them as a FileError.
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

/// Errors: those of json::parse_object, with `path`.
tl::expected<nlohmann::json, FileError> parse_json_object(std::string_view text,
                                                          const std::string& path);

/// Maps the file. Errors: those of MappedFile; it has more than `bytes_max` bytes.
tl::expected<MappedFile, FileError> open_json(const std::string& path, std::uint64_t bytes_max);

/// The whole file as text, valid as long as the file.
std::string_view text_of(const MappedFile& file);

}  // namespace forge::formats
