// Writes a model as a file of GGUF or a directory with SafeTensors. Nothing is left behind if it
// cannot be done.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gguf_keys.h"
#include "write_tensors.h"

namespace forge::apps {

/// Where a command writes to.
struct OutputPath {
  std::string path;
  ModelFormat format = ModelFormat::gguf;
};

/// A name that ends in .gguf is a file, any other a directory. Errors: it is there already and not
/// to be overwritten; it is IN; its name ends in .safetensors, which would not be a directory.
struct OutputRequest {
  std::string in;  ///< empty: the command has none
  std::string out;
  bool overwrite = false;
};
tl::expected<OutputPath, std::string> check_output(const OutputRequest& request);

/// A model to write: its tensors, and where their rows come from.
struct ModelRows {
  const std::vector<OutputTensor>& tensors;
  RowSource& source;
  linear::ThreadPool& threads;
  std::string label;  ///< of the progress bar
};

/// Errors: those of TensorWriter and write_tensors.
tl::expected<std::vector<WrittenTensor>, std::string> save_gguf(const std::string& path,
                                                                const GgufKeys& keys,
                                                                const ModelRows& model);

/// `files`: what is put beside the tensors, by name: config.json and others.
tl::expected<std::vector<WrittenTensor>, std::string> save_safetensors(
    const std::string& directory, const std::map<std::string, std::string>& files,
    const ModelRows& model);

/// The text of a file, or nothing.
std::optional<std::string> read_text_file(const std::string& path);

}  // namespace forge::apps
