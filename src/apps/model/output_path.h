// Where the commands of forge-model write to, and what they say while and after they do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/checkpoint/write_model.h"

namespace forge::apps {

struct OutputPath {
  std::string path;
  checkpoint::ModelFormat format = checkpoint::ModelFormat::gguf;
};

/// The paths of a command, as its command line gives them.
struct OutputRequest {
  std::string in;  ///< empty: the command has none
  std::string out;
  bool overwrite = false;
};
/// The output of a command. A name that ends in .gguf is a file, any other a directory. Errors: it
/// is there already and not to be overwritten; it is IN; its name ends in .safetensors, which would
/// not be a directory.
tl::expected<OutputPath, std::string> check_output(const OutputRequest& request);

/// A progress bar of `bytes` for ModelRows::progress. It says to stop once the user has
/// (interrupts.h).
std::function<bool(std::uint64_t)> progress_bar(const std::string& path, std::uint64_t bytes);

/// "OUT: 30 tensors, 1.2 MiB", with `more` between them.
std::string summary(const std::string& path, const std::vector<checkpoint::WrittenTensor>& tensors,
                    const std::string& more = "");

/// The text of a file, or nothing.
std::optional<std::string> read_text_file(const std::string& path);

}  // namespace forge::apps
