#include "forge/checkpoint/write_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "forge/formats/tensor_writer.h"

namespace forge::checkpoint {
namespace {

namespace fs = std::filesystem;
using formats::TensorSpec;
using formats::TensorWriter;
using Written = tl::expected<std::vector<WrittenTensor>, std::string>;

class Writing {
 public:
  Writing(const ModelRows& model, TensorWriter& writer) : model_(model), writer_(writer) {}

  tl::expected<WrittenTensor, std::string> write(const FileTensor& tensor) {
    const std::size_t row_bytes = static_cast<std::size_t>(
        *formats::bytes_of(tensor.spec.type, std::vector{tensor.row_elements()}));
    const std::uint64_t rows = tensor.rows();
    const std::uint64_t piece = std::max<std::uint64_t>(1, kPieceElements / tensor.row_elements());
    WrittenTensor written{tensor.spec.name, tensor.spec.type, rows * row_bytes, {}};
    model_.source.begin(tensor);
    for (std::uint64_t first = 0; first < rows; first += piece) {
      const auto count = static_cast<int>(std::min(piece, rows - first));
      buffer_.resize(static_cast<std::size_t>(count) * row_bytes);
      results_.assign(static_cast<std::size_t>(count), {});
      model_.threads.run(count, [&](int i) {
        const auto at = static_cast<std::size_t>(i);
        results_[at] = model_.source.write(tensor, first + at,
                                           std::span(buffer_).subspan(at * row_bytes, row_bytes));
      });
      if (auto done = take_piece(written); !done) return tl::unexpected(done.error());
    }
    model_.source.end(tensor);
    return written;
  }

 private:
  static constexpr std::uint64_t kPieceElements = std::uint64_t{1} << 21;

  tl::expected<void, std::string> take_piece(WrittenTensor& written) {
    for (const auto& result : results_) {
      if (!result) return tl::unexpected(result.error());
      written.error.add(*result);
    }
    if (auto done = writer_.write(buffer_); !done) return tl::unexpected(to_string(done.error()));
    bytes_done_ += buffer_.size();
    if (!model_.progress || model_.progress(bytes_done_)) return {};
    return tl::unexpected(std::string("stopped; nothing is written"));
  }

  const ModelRows& model_;
  TensorWriter& writer_;
  std::vector<std::byte> buffer_;
  std::vector<tl::expected<quant::QuantizationError, std::string>> results_;  // of its rows
  std::uint64_t bytes_done_ = 0;
};

std::vector<TensorSpec> specs_of(const std::vector<FileTensor>& tensors) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const FileTensor& tensor : tensors) specs.push_back(tensor.spec);
  return specs;
}

Written write(tl::expected<TensorWriter, formats::FileError> writer, const ModelRows& model) {
  if (!writer) return tl::unexpected(to_string(writer.error()));
  Writing writing(model, *writer);
  std::vector<WrittenTensor> written;
  for (const FileTensor& tensor : model.tensors) {
    auto one = writing.write(tensor);
    if (!one) return tl::unexpected(one.error());
    written.push_back(*std::move(one));
  }
  if (auto done = writer->finish(); !done) return tl::unexpected(to_string(done.error()));
  return written;
}

tl::expected<void, std::string> write_text_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return {};
  return tl::unexpected(path.string() + ": cannot be written");
}

}  // namespace

std::uint64_t ModelRows::bytes() const {
  std::uint64_t bytes = 0;
  for (const FileTensor& tensor : tensors) {
    bytes += *formats::bytes_of(tensor.spec.type, tensor.spec.shape);
  }
  return bytes;
}

Written write_gguf(const std::string& path, const formats::GgufMetadata& metadata,
                   const ModelRows& model) {
  return write(TensorWriter::gguf(path, specs_of(model.tensors), metadata), model);
}

Written write_safetensors(const std::string& directory,
                          const std::map<std::string, std::string>& files, const ModelRows& model) {
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

}  // namespace forge::checkpoint
