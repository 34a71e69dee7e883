#include "write_tensors.h"

#include <algorithm>
#include <optional>

#include "interrupts.h"
#include "progress_bar.h"

namespace forge::apps {
namespace {

/// The error of a row, or of none.
using RowResults = std::vector<tl::expected<quant::QuantizationError, std::string>>;

class Writing {
 public:
  Writing(RowSource& source, WriteJob& job, std::uint64_t total_bytes)
      : source_(source),
        job_(job),
        bar_(job.label, static_cast<std::size_t>(total_bytes >> 20), "MiB") {}

  tl::expected<WrittenTensor, std::string> write(const OutputTensor& tensor) {
    const std::size_t row_bytes = static_cast<std::size_t>(
        *formats::bytes_of(tensor.spec.type, std::vector{tensor.row_elements()}));
    const std::uint64_t rows = tensor.rows();
    const std::uint64_t piece = std::max<std::uint64_t>(1, kPieceElements / tensor.row_elements());
    WrittenTensor written{tensor.spec.name, tensor.spec.type, rows * row_bytes, {}};
    source_.begin(tensor);
    for (std::uint64_t first = 0; first < rows; first += piece) {
      const auto count = static_cast<int>(std::min(piece, rows - first));
      buffer_.resize(static_cast<std::size_t>(count) * row_bytes);
      results_.assign(static_cast<std::size_t>(count), {});
      job_.threads.run(count, [&](int i) {
        const auto at = static_cast<std::size_t>(i);
        results_[at] = source_.write(tensor, first + at,
                                     std::span(buffer_).subspan(at * row_bytes, row_bytes));
      });
      if (auto done = take_piece(written); !done) return tl::unexpected(done.error());
    }
    source_.end(tensor);
    return written;
  }

 private:
  static constexpr std::uint64_t kPieceElements = std::uint64_t{1} << 21;

  tl::expected<void, std::string> take_piece(WrittenTensor& written) {
    for (const auto& result : results_) {
      if (!result) return tl::unexpected(result.error());
      written.error.add(*result);
    }
    if (auto done = job_.writer.write(buffer_); !done) {
      return tl::unexpected(to_string(done.error()));
    }
    bytes_done_ += buffer_.size();
    bar_.update(bytes_done_ >> 20);
    if (was_interrupted()) return tl::unexpected(std::string(kInterrupted));
    return {};
  }

  RowSource& source_;
  WriteJob& job_;
  ProgressBar bar_;
  std::vector<std::byte> buffer_;
  RowResults results_;
  std::size_t bytes_done_ = 0;
};

}  // namespace

tl::expected<std::vector<WrittenTensor>, std::string> write_tensors(
    const std::vector<OutputTensor>& tensors, RowSource& source, WriteJob job) {
  std::uint64_t total = 0;
  for (const OutputTensor& tensor : tensors) {
    total += *formats::bytes_of(tensor.spec.type, tensor.spec.shape);
  }
  std::vector<WrittenTensor> written;
  {
    Writing writing(source, job, total);
    for (const OutputTensor& tensor : tensors) {
      auto one = writing.write(tensor);
      if (!one) return tl::unexpected(one.error());
      written.push_back(*std::move(one));
    }
  }
  if (auto done = job.writer.finish(); !done) return tl::unexpected(to_string(done.error()));
  return written;
}

}  // namespace forge::apps
