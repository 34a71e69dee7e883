// FileError: what is wrong with a file of weights, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forge::formats {

struct FileError {
  std::string file;                     ///< its path
  std::string message;                  ///< names thing, value and accepted range
  std::string tensor;                   ///< the name of the tensor concerned, or empty
  std::optional<std::uint64_t> offset;  ///< bytes from the start of the file

  friend bool operator==(const FileError&, const FileError&) = default;
};

/// "model.gguf: tensor 'blk.0.attn_q.weight' at byte 1234: message", one line whatever the name.
std::string to_string(const FileError& error);

}  // namespace forge::formats
