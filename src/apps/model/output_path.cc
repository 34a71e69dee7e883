#include "output_path.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "forge/runtime/kv_memory.h"
#include "interrupts.h"
#include "progress_bar.h"

namespace forge::apps {
namespace {

namespace fs = std::filesystem;

bool has_model(const fs::path& directory) {
  return fs::exists(directory / "model.safetensors") || fs::exists(directory / "config.json") ||
         fs::exists(directory / "model.safetensors.index.json");
}

}  // namespace

tl::expected<OutputPath, std::string> check_output(const OutputRequest& request) {
  const fs::path out(request.out);
  const std::string name = "OUT: '" + request.out + "' ";
  std::error_code ignored;
  if (out.extension() == ".safetensors") {
    return tl::unexpected(name + "ends in .safetensors; accepted are NAME.gguf and a directory");
  }
  const bool gguf = out.extension() == ".gguf";
  const bool directory = fs::is_directory(out, ignored);
  if (!request.in.empty() && fs::equivalent(request.in, out, ignored)) {
    return tl::unexpected(name + "is IN");
  }
  if (gguf && directory) return tl::unexpected(name + "is a directory");
  if (!gguf && fs::exists(out, ignored) && !directory) {
    return tl::unexpected(name + "is a file; accepted are NAME.gguf and a directory");
  }
  const bool taken = gguf ? fs::exists(out, ignored) : has_model(out);
  if (taken && !request.overwrite) {
    return tl::unexpected(name + "is there already; --force overwrites it");
  }
  using checkpoint::ModelFormat;
  return OutputPath{request.out, gguf ? ModelFormat::gguf : ModelFormat::safetensors};
}

std::function<bool(std::uint64_t)> progress_bar(const std::string& path, std::uint64_t bytes) {
  catch_interrupts();
  const auto bar = std::make_shared<ProgressBar>("writing " + path,
                                                 static_cast<std::size_t>(bytes >> 20), "MiB");
  return [bar](std::uint64_t done) {
    bar->update(static_cast<std::size_t>(done >> 20));
    return !was_interrupted();
  };
}

std::string summary(const std::string& path, const std::vector<checkpoint::WrittenTensor>& tensors,
                    const std::string& more) {
  std::uint64_t bytes = 0;
  for (const checkpoint::WrittenTensor& tensor : tensors) bytes += tensor.bytes;
  return path + ": " + std::to_string(tensors.size()) + " tensors, " + more +
         runtime::bytes_text(bytes) + "\n";
}

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace forge::apps
