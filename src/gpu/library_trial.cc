#include "library_trial.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "allocator.h"
#include "command_queue.h"
#include "forge/core/check.h"
#include "forge/gpu/kernels.h"
#include "forge/linear/panels.h"
#include "probe_numbers.h"

namespace forge::gpu {
namespace {

using Digests = std::vector<std::uint64_t>;

/// Algorithms that are tried for a shape.
constexpr int kAlgorithmsMost = 4;
/// Rows and outputs that differ; those after them are the same again. Primes, so that a tile of one
/// is at another place of a tile of a kernel each time.
constexpr int kRowsThatDiffer = 61;
constexpr int kOutputsThatDiffer = 251;

std::size_t numbers_of(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

const char* name_of(ProbeKind kind) {
  return kind == ProbeKind::cancelling ? "cancelling" : "spread";
}

/// The matrices of a trial on the device, and what is made of them.
class TrialRig {
 public:
  TrialRig(Allocator& allocator, CommandQueue& queue, const std::vector<MatrixSize>& sizes);

  /// Brings numbers of a kind for a matrix.
  void fill(ProbeKind kind, numerics::HalfType type, const MatrixSize& size);

  /// Of all rows by project_wide.
  Digests own(numerics::HalfType type, const MatrixSize& size);

  /// Of the shape's rows by the library. Errors: it refuses.
  tl::expected<Digests, DeviceError> of_library(const LibraryShape& shape,
                                                const LibraryAlgorithm& algorithm);

 private:
  void repeat(std::vector<std::uint16_t> first, int rows, int inputs, const Buffer& to);
  Digests digests(int rows, int outputs);

  CommandQueue& queue_;
  // After a failure the device may still read and write them: they go after the device's memory.
  PassCounts host_counts_;
  std::vector<LogitInput> host_inputs_;
  std::vector<std::uint16_t> host_numbers_;
  Digests host_digests_;
  Buffer x_;
  Buffer weights_;
  Buffer sums_;
  Buffer counts_;
  Buffer inputs_;   // LogitInput [rows]
  Buffer digests_;  // [rows]
};

TrialRig::TrialRig(Allocator& allocator, CommandQueue& queue, const std::vector<MatrixSize>& sizes)
    : queue_(queue) {
  std::size_t rows = 0;
  std::size_t x = 0;
  std::size_t weights = 0;
  std::size_t sums = 0;
  for (const MatrixSize& size : sizes) {
    const int padded = ceil_div(size.outputs, linear::kPanelOutputs) * linear::kPanelOutputs;
    rows = std::max(rows, static_cast<std::size_t>(size.rows_max));
    x = std::max(x, numbers_of(size.rows_max, size.inputs));
    weights = std::max(weights, numbers_of(padded, size.inputs));
    sums = std::max(sums, numbers_of(size.rows_max, size.outputs));
  }
  const auto on_device = MemoryKind::device;
  x_ = allocator.take<std::uint16_t>(on_device, x, "rows to try a library");
  weights_ = allocator.take<std::uint16_t>(on_device, weights, "weights to try a library");
  sums_ = allocator.take<float>(on_device, sums, "sums to try a library");
  counts_ = allocator.take<PassCounts>(on_device, 1, "count of rows to try a library");
  inputs_ = allocator.take<LogitInput>(on_device, rows, "rows of sums to try a library");
  digests_ = allocator.take<std::uint64_t>(on_device, rows, "digests to try a library");
  if (!allocator.status()) return;
  host_inputs_.resize(rows);
  for (std::uint32_t i = 0; i < host_inputs_.size(); ++i) host_inputs_[i].pick = i;
  queue_.copy(inputs_.as<void>(), host_inputs_.data(), inputs_.bytes(), CopyDirection::to_device);
  queue_.synchronize();
}

void TrialRig::fill(ProbeKind kind, numerics::HalfType type, const MatrixSize& size) {
  const int rows = std::min(size.rows_max, kRowsThatDiffer);
  const int outputs = std::min(size.outputs, kOutputsThatDiffer);
  host_counts_.rows = host_counts_.logit_rows = static_cast<std::uint32_t>(size.rows_max);
  queue_.copy(counts_.as<void>(), &host_counts_, sizeof host_counts_, CopyDirection::to_device);
  repeat(probe_rows(kind, type, rows, size.inputs), size.rows_max, size.inputs, x_);
  repeat(probe_weights(kind, type, outputs, size.inputs), size.outputs, size.inputs, weights_);
}

/// Twice, four times, ... until there are `rows`.
void TrialRig::repeat(std::vector<std::uint16_t> first, int rows, int inputs, const Buffer& to) {
  constexpr std::size_t kBytes = sizeof(std::uint16_t);
  if (!queue_.status()) return;
  host_numbers_ = std::move(first);
  const std::size_t there = host_numbers_.size();
  queue_.copy(to.as<void>(), host_numbers_.data(), there * kBytes, CopyDirection::to_device);
  const std::size_t all = numbers_of(rows, inputs);
  for (std::size_t filled = there; filled < all;) {
    const std::size_t more = std::min(filled, all - filled);
    queue_.copy(to.as<std::uint16_t>() + filled, to.as<void>(), more * kBytes,
                CopyDirection::within);
    filled += more;
  }
  queue_.synchronize();
}

Digests TrialRig::own(numerics::HalfType type, const MatrixSize& size) {
  const ProjectWideArgs product{{.row_count = &counts_.as<PassCounts>()->rows,
                                 .rows_max = size.rows_max,
                                 .x = x_.as<void>(),
                                 .weights = weights_.as<void>(),
                                 .inputs = size.inputs,
                                 .outputs = size.outputs,
                                 .type = type,
                                 .y = sums_.as<float>()},
                                WideKind::small};
  queue_.launch(product);
  return digests(size.rows_max, size.outputs);
}

tl::expected<Digests, DeviceError> TrialRig::of_library(const LibraryShape& shape,
                                                        const LibraryAlgorithm& algorithm) {
  // Sums that are not written must not be the right ones of before.
  const std::size_t bytes = numbers_of(shape.rows, shape.outputs) * sizeof(float);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t more = std::min(bytes - done, weights_.bytes());
    queue_.copy(sums_.as<std::byte>() + done, weights_.as<void>(), more, CopyDirection::within);
    done += more;
  }
  const LibraryProduct product{shape, &algorithm, x_.as<void>(), weights_.as<void>(),
                               sums_.as<float>()};
  if (auto multiplied = queue_.try_multiply(product); !multiplied) {
    return tl::unexpected(std::move(multiplied.error()));
  }
  return digests(shape.rows, shape.outputs);
}

Digests TrialRig::digests(int rows, int outputs) {
  queue_.launch(DigestLogitsArgs{.counts = counts_.as<PassCounts>(),
                                 .inputs = inputs_.as<LogitInput>(),
                                 .logits = sums_.as<float>(),
                                 .digests = digests_.as<std::uint64_t>(),
                                 .vocabulary = outputs},
                static_cast<std::uint32_t>(rows));
  if (!queue_.status()) return {};
  host_digests_.resize(static_cast<std::size_t>(rows));
  queue_.copy(host_digests_.data(), digests_.as<void>(),
              host_digests_.size() * sizeof(std::uint64_t), CopyDirection::to_host);
  queue_.synchronize();
  return host_digests_;
}

/// A shape, and the algorithms that have had the right bits so far.
struct Candidates {
  LibraryShape shape;
  std::vector<LibraryAlgorithm> left;
};

class Trial {
 public:
  Trial(MatrixLibrary& library, TrialRig& rig) : library_(library), rig_(rig) {
    report_.library = library.name();
  }

  void run(const MatrixSize& size, numerics::HalfType type);
  LibraryReport report() && { return std::move(report_); }

 private:
  Candidates candidates(const LibraryShape& shape);
  /// What is wrong with the library's sums of numbers of a kind, or nothing.
  std::string fault(const LibraryShape& shape, const LibraryAlgorithm& algorithm, ProbeKind kind,
                    const Digests& own);
  void refuse(const LibraryShape& shape, const std::string& algorithm, std::string reason) {
    report_.refused.push_back({shape, algorithm, std::move(reason)});
  }

  MatrixLibrary& library_;
  TrialRig& rig_;
  LibraryReport report_;
};

Candidates Trial::candidates(const LibraryShape& shape) {
  auto offered = library_.algorithms(shape, kAlgorithmsMost);
  if (!offered) {
    refuse(shape, "", to_string(offered.error()));
    return {shape, {}};
  }
  if (offered->empty()) refuse(shape, "", "no algorithm for it");
  return {shape, std::move(*offered)};
}

std::string Trial::fault(const LibraryShape& shape, const LibraryAlgorithm& algorithm,
                         ProbeKind kind, const Digests& own) {
  const auto found = rig_.of_library(shape, algorithm);
  if (!found) return to_string(found.error());
  int others = 0;
  for (std::size_t row = 0; row < found->size(); ++row) others += (*found)[row] != own[row] ? 1 : 0;
  if (others == 0) return {};
  return "other sums in " + std::to_string(others) + " of " + std::to_string(shape.rows) +
         " rows of " + name_of(kind) + " numbers";
}

void Trial::run(const MatrixSize& size, numerics::HalfType type) {
  std::vector<Candidates> all;
  for (int rows = kLibraryRowsMin; rows <= size.rows_max; rows *= 2) {
    all.push_back(candidates({rows, size.outputs, size.inputs, type}));
  }
  for (const ProbeKind kind : {ProbeKind::cancelling, ProbeKind::spread}) {
    rig_.fill(kind, type, size);
    const Digests own = rig_.own(type, size);
    for (Candidates& candidates : all) {
      std::erase_if(candidates.left, [&](const LibraryAlgorithm& algorithm) {
        std::string reason = fault(candidates.shape, algorithm, kind, own);
        if (reason.empty()) return false;
        refuse(candidates.shape, algorithm.name, std::move(reason));
        return true;
      });
    }
  }
  for (Candidates& candidates : all) {
    if (candidates.left.empty()) continue;
    report_.admitted.push_back({candidates.shape, std::move(candidates.left.front())});
  }
}

}  // namespace

tl::expected<LibraryReport, DeviceError> try_library(Device& device, MatrixLibrary& library,
                                                     const std::vector<MatrixSize>& sizes,
                                                     numerics::HalfType type) {
  auto stream = device.create_stream();
  if (!stream) return tl::unexpected(std::move(stream.error()));
  CommandQueue queue(**stream);
  Allocator allocator(device);
  TrialRig rig(allocator, queue, sizes);
  if (!allocator.status()) return tl::unexpected(allocator.status().error());
  Trial trial(library, rig);
  for (const MatrixSize& size : sizes) {
    if (queue.status()) trial.run(size, type);
  }
  if (!queue.status()) return tl::unexpected(queue.status().error());
  return std::move(trial).report();
}

}  // namespace forge::gpu
