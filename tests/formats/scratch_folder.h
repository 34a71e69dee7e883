// A folder for the files of a test, and those files by hand.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "forge/core/check.h"

namespace forge::formats::testing {

/// Removed, with what is in it, when it goes.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "forge-XXXXXX").string()) {
    FORGE_CHECK(mkdtemp(path_.data()) != nullptr, path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream out(file(name), std::ios::binary);
    out << bytes;
    FORGE_CHECK(out.flush().good(), file(name));
    return file(name);
  }

 private:
  std::string path_;
};

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  FORGE_CHECK(in.is_open(), path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace forge::formats::testing
