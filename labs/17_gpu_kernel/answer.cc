// rms_norm and its parts on the simulated GPU: what they write, and how many sectors they ask for.
#define FORGE_SIMT_INSTRUMENTED 1
#include "forge/core/check.h"
#include "rms_norm.cuh"
#include "simulated_gpu.h"

namespace forge::labs {

/// What the kernels of this lab are given: a vector, and where each lane puts what it has found.
struct VectorArgs {
  const float* x;  ///< [size]
  float* result;   ///< [32], of each lane
  int size;
  float eps;
};

}  // namespace forge::labs

namespace FORGE_KERNELS {

FORGE_KERNEL(simt::kWarpSize) sum_alone(labs::VectorArgs a) {
  global(a.result)[lane()] = warp_sum_of_squares(global(a.x), a.size);
}

FORGE_KERNEL(simt::kWarpSize) scale_alone(labs::VectorArgs a) {
  global(a.result)[lane()] = norm_scale(global(a.x), a.size, a.eps);
}

}  // namespace FORGE_KERNELS

namespace forge::labs {
namespace {

/// A line for each stretch of lanes that have the same bits.
void add_lanes(const float* result, Lines& lines) {
  for (int first = 0; first < simt::kWarpSize;) {
    int last = first;
    while (last + 1 < simt::kWarpSize &&
           numerics::bits_of(result[last + 1]) == numerics::bits_of(result[first])) {
      ++last;
    }
    std::string lanes = "lane " + std::to_string(first);
    if (last > first) lanes = "lanes " + std::to_string(first) + " to " + std::to_string(last);
    lines.push_back(lanes + ": " + value_and_bits(result[first]));
    first = last + 1;
  }
}

/// {"tenths": [...], "millionths": of eps} -> what each lane has.
Lines play_vector(const char* name, const std::vector<float>& x, int eps_millionths,
                  simt::Entry entry, bool with_sectors) {
  DeviceMemory memory;
  VectorArgs args{};
  args.x = memory.put("x", x);
  args.result = memory.put("result", std::vector<float>(simt::kWarpSize));
  args.size = static_cast<int>(x.size());
  args.eps = static_cast<float>(eps_millionths) * 1e-6f;
  const Launched launched = launch(name, entry, {}, &args, memory);
  if (!launched.fault.empty()) return {launched.fault};
  Lines lines;
  add_lanes(args.result, lines);
  if (with_sectors) {
    lines.push_back("sectors read: " + std::to_string(launched.sectors_read()));
  }
  return lines;
}

Lines sum_of_squares(const Json& input) {
  return play_vector("warp_sum_of_squares", floats_of_tenths(wholes(input, "tenths")), 0,
                     FORGE_KERNEL_ENTRY(kernels::instrumented::sum_alone), false);
}

Lines sectors(const Json& input) {
  return play_vector("warp_sum_of_squares", floats_of_tenths(wholes(input, "tenths")), 0,
                     FORGE_KERNEL_ENTRY(kernels::instrumented::sum_alone), true);
}

Lines norm_scale(const Json& input) {
  const std::vector<float> x = floats_of_tenths(wholes(input, "tenths"));
  const int eps_millionths = whole(input, "millionths");
  FORGE_CHECK(!x.empty() && eps_millionths > 0, "nothing to divide by");
  return play_vector("norm_scale", x, eps_millionths,
                     FORGE_KERNEL_ENTRY(kernels::instrumented::scale_alone), false);
}

/// A launch of rms_norm.
struct NormCase {
  int wanted = 0;    ///< rows that are normed
  int launched = 0;  ///< thread blocks for each vector of a row
  gpu::RmsNormArgs args{};

  static int stride(int given, const gpu::RmsNormArgs& a) {
    return given > 0 ? given : a.groups * a.size;
  }
  int y_stride() const { return stride(args.y_stride, args); }
};

/// As cases.py has it.
NormCase norm_case(const Json& input, DeviceMemory& memory) {
  const int rows = whole(input, "rows");
  const int gap = whole(input, "gap");
  const std::vector<int> chosen = wholes(input, "logit_rows");
  NormCase norm;
  norm.wanted = chosen.empty() ? rows : static_cast<int>(chosen.size());
  norm.launched = whole(input, "blocks");
  gpu::RmsNormArgs& a = norm.args;
  a.size = whole(input, "size");
  a.groups = whole(input, "groups");
  a.eps = 1e-5f;
  a.multiplier = static_cast<float>(whole(input, "multiplier_tenths")) / 10;
  a.accumulate = whole(input, "accumulate") != 0;
  FORGE_CHECK(rows > 0 && a.size > 0 && a.groups > 0, "nothing to norm");
  FORGE_CHECK(norm.launched >= norm.wanted, "rows without a thread block");
  if (gap > 0) {
    a.x_stride = a.groups * a.size + gap;
    a.y_stride = a.groups * a.size + 2 * gap;
  }

  gpu::PassCounts counts{.rows = static_cast<std::uint32_t>(rows)};
  if (!chosen.empty()) {
    std::vector<gpu::LogitInput> logits(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      FORGE_CHECK(chosen[i] >= 0 && chosen[i] < rows, "no such row");
      logits[i].row = static_cast<std::uint32_t>(chosen[i]);
    }
    a.logits = memory.put("logits", logits);
    counts.logit_rows = static_cast<std::uint32_t>(chosen.size());
  }
  a.counts = memory.put("counts", std::vector<gpu::PassCounts>{counts});
  a.x = memory.put("x", made_up(rows * NormCase::stride(a.x_stride, a), 1));
  a.weight = memory.put("weight", made_up(a.size, 2));
  a.y = memory.put("y", made_up(norm.wanted * norm.y_stride(), 3));
  return norm;
}

/// -> y, number by number, and the sectors that are written: how the sum reads is another task.
Lines rms_norm(const Json& input) {
  DeviceMemory memory;
  const NormCase norm = norm_case(input, memory);
  const Launched launched = launch("rms_norm", FORGE_KERNEL_ENTRY(kernels::instrumented::rms_norm),
                                   norm.args.shape(norm.launched), &norm.args, memory);
  if (!launched.fault.empty()) return {launched.fault};
  Lines lines;
  for (int row = 0; row < norm.wanted; ++row) {
    for (int n = 0; n < norm.y_stride(); ++n) {
      lines.push_back("row " + std::to_string(row) + ", y[" + std::to_string(n) +
                      "]: " + value_and_bits(norm.args.y[row * norm.y_stride() + n]));
    }
  }
  lines.push_back("sectors written: " + std::to_string(launched.sectors_written()));
  return lines;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"sum_of_squares", in_lines(sum_of_squares)},
          {"sectors", in_lines(sectors)},
          {"norm_scale", in_lines(norm_scale)},
          {"rms_norm", in_lines(rms_norm)}};
}

}  // namespace forge::labs
