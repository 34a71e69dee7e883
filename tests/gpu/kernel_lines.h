// Lines of the kernels' sources, for tests that leave words of them out.
#pragma once

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "forge/simt/observer.h"

namespace forge::gpu {

/// A line of a file of cuda/kernels.
struct KernelLine {
  std::string file;  ///< "project.cuh"
  int number = 0;
  std::string text;

  std::string name() const { return file + ":" + std::to_string(number); }
};

/// Those on which one of the words is written, by file and number.
inline std::vector<KernelLine> kernel_lines_with(std::initializer_list<std::string_view> words) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(FORGE_KERNELS_FOLDER)) {
    if (entry.path().extension() == ".cuh") files.insert(entry.path());
  }
  std::vector<KernelLine> lines;
  for (const std::filesystem::path& file : files) {
    std::ifstream source(file);
    std::string text;
    for (int number = 1; std::getline(source, text); ++number) {
      for (const std::string_view word : words) {
        if (text.find(word) == text.npos) continue;
        lines.push_back({file.filename().string(), number, text});
        break;
      }
    }
  }
  return lines;
}

/// The line that a site of the simulator means, whose folder the build may have shortened.
inline KernelLine kernel_line(const simt::Site& site) {
  KernelLine line{std::filesystem::path(site.file).filename().string(), site.line, ""};
  std::ifstream source(std::filesystem::path(FORGE_KERNELS_FOLDER) / line.file);
  for (int number = 0; number < site.line; ++number) std::getline(source, line.text);
  return line;
}

}  // namespace forge::gpu
