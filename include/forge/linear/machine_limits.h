// What a machine can do at best, measured: the marks that products are held against.
//
// A product of one row cannot be faster than memory delivers the weights, one of many rows not
// faster than the arithmetic units multiply. A kernel's rate over its mark is a figure that means
// the same on every machine.
//
// Other load on the machine lowers both, so a ratio is of the best of several of each. A run of a
// model has one mark, measure_limits() while nothing else runs; kernels alone in a loop are
// measured in turns, a sample of the mark, a run of the kernel, and so on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "forge/core/names.h"
#include "forge/linear/linear_weights.h"
#include "forge/linear/thread_pool.h"

namespace forge::linear {

/// Reads `memory` once with all threads, in ascending runs of 128 KiB. Returns: bytes a second. To
/// measure memory and not caches, take turns among pieces of, say, 1 GiB, and write all of it
/// before (pages that were never written are one page).
double sample_read_rate(std::span<const std::byte> memory, ThreadPool& pool);

/// Multiplications that have a peak of their own.
enum class Arithmetic : std::uint8_t {
  f32,   ///< fused multiply-add of floats
  bf16,  ///< multiply-add of pairs of bf16 (vdpbf16ps)
  int8,  ///< multiply-add of quads of bytes (vpdpbusd)
};
constexpr Names<Arithmetic> names_of(Arithmetic) { return {"f32", "bf16", "int8"}; }

/// What products with `kind` multiply with on this machine: bf16 without its instruction, or with
/// canonical numerics, is widened, and so are halves.
Arithmetic arithmetic_of(PanelKind kind, Numerics numerics);

/// Measures some milliseconds of work on registers alone. Returns: operations a second of all
/// threads together; a multiplication and its addition are two. None where the machine has no such
/// instruction.
std::optional<double> sample_peak_rate(Arithmetic arithmetic, ThreadPool& pool);

/// The marks of this machine with the threads of `pool`.
struct MachineLimits {
  double read_bytes_per_s = 0;
  std::array<std::optional<double>, kNames<Arithmetic>.size()> peaks;  ///< operations a second

  std::optional<double> peak(Arithmetic arithmetic) const {
    return peaks[static_cast<std::size_t>(arithmetic)];
  }
};

/// The best of several samples of each, of memory in large pages. Takes about a second, and 1 GiB.
MachineLimits measure_limits(ThreadPool& pool);

}  // namespace forge::linear
