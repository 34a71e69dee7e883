#include "save_model.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "interrupts.h"

namespace forge::apps {
namespace {

namespace fs = std::filesystem;
using formats::TensorSpec;
using formats::TensorWriter;

std::vector<TensorSpec> specs_of(const std::vector<OutputTensor>& tensors) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const OutputTensor& tensor : tensors) specs.push_back(tensor.spec);
  return specs;
}

tl::expected<std::vector<WrittenTensor>, std::string> write(
    tl::expected<TensorWriter, formats::FileError> writer, const ModelRows& model) {
  if (!writer) return tl::unexpected(to_string(writer.error()));
  return write_tensors(model.tensors, model.source,
                       {model.label, *std::move(writer), model.threads});
}

tl::expected<void, std::string> write_text_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return {};
  return tl::unexpected(path.string() + ": cannot be written");
}

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
  return OutputPath{request.out, gguf ? ModelFormat::gguf : ModelFormat::safetensors};
}

tl::expected<std::vector<WrittenTensor>, std::string> save_gguf(const std::string& path,
                                                                const GgufKeys& keys,
                                                                const ModelRows& model) {
  catch_interrupts();
  return write(TensorWriter::gguf(path, specs_of(model.tensors), keys.metadata()), model);
}

tl::expected<std::vector<WrittenTensor>, std::string> save_safetensors(
    const std::string& directory, const std::map<std::string, std::string>& files,
    const ModelRows& model) {
  catch_interrupts();
  const fs::path folder(directory);
  std::error_code error;
  const bool is_new = fs::create_directories(folder, error);
  if (error) return tl::unexpected(directory + ": cannot be created: " + error.message());
  auto written = write(TensorWriter::safetensors((folder / "model.safetensors").string(),
                                                 specs_of(model.tensors), {{"format", "pt"}}),
                       model);
  for (auto file = files.begin(); written && file != files.end(); ++file) {
    if (auto done = write_text_file(folder / file->first, file->second); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (!written && is_new) fs::remove(folder, error);  // which does nothing if it is not empty
  return written;
}

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace forge::apps
