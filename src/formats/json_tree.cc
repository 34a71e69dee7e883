#include "forge/formats/json_tree.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "forge/json/parse.h"

namespace forge::formats {

tl::expected<nlohmann::json, FileError> parse_json_object(std::string_view text,
                                                          const std::string& path) {
  return json::parse_object(text).map_error([&](const json::ParseError& error) {
    return FileError{.file = path, .message = error.message, .offset = error.byte};
  });
}

tl::expected<MappedFile, FileError> open_json(const std::string& path, std::uint64_t bytes_max) {
  auto file = MappedFile::open(path);
  if (!file || file->bytes().size() <= bytes_max) return file;
  return tl::unexpected(FileError{.file = path,
                                  .message = "has " + std::to_string(file->bytes().size()) +
                                             " bytes; accepted are up to " +
                                             std::to_string(bytes_max)});
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace forge::formats
