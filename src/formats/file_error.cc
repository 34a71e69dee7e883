#include "forge/formats/file_error.h"

#include "forge/core/quoted.h"

namespace forge::formats {

std::string to_string(const FileError& error) {
  std::string place;
  if (!error.tensor.empty()) place = "tensor " + in_quotes(error.tensor);
  if (error.offset) {
    if (!place.empty()) place += ' ';
    place += "at byte " + std::to_string(*error.offset);
  }
  if (!place.empty()) place += ": ";
  return error.file + ": " + place + error.message;
}

}  // namespace forge::formats
