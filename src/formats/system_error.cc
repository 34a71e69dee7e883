#include "system_error.h"

#include <system_error>

namespace forge::formats::detail {

FileError system_error(const std::string& path, const std::string& action, int code) {
  return {.file = path,
          .message = "cannot be " + action + ": " + std::generic_category().message(code)};
}

}  // namespace forge::formats::detail
