// The kernels that move or transform rows: each output has the bits of the CPU's.
#include <algorithm>
#include <limits>

#include "forge/numerics/vector_ops.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {
namespace {

constexpr float kUnwritten = -777.0f;

class RowKernels : public KernelTest {};
FORGE_KERNEL_TEST_TARGETS(RowKernels);

TEST_P(RowKernels, UpdateTablesWritesEachEntryAndNoOther) {
  for (const int writes : {0, 1, 5, 128, 300}) {
    SCOPED_TRACE(writes);
    Random random(static_cast<std::uint64_t>(writes));
    constexpr std::uint32_t kTables = 7;
    constexpr std::uint32_t kStride = 61;
    const std::vector<std::uint32_t> places = random.permutation(kTables * kStride);
    std::vector<TableWrite> list(400);
    std::vector<std::uint32_t> before(kTables * kStride, 9);
    std::vector<std::uint32_t> after = before;
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = {places[i] / kStride, places[i] % kStride, random.word()};
      if (i < static_cast<std::size_t>(writes)) after[places[i]] = list[i].block;
    }
    const auto rig = this->rig();
    const UpdateTablesArgs args{
        .writes = rig->input("writes", list),
        .count = rig->input("count", std::vector{static_cast<std::uint32_t>(writes)}),
        .tables = rig->output("tables", before, after),
        .table_stride = kStride};
    rig->expect(launch_of(args, args.shape(400)));
  }
}

TEST_P(RowKernels, CopyBlocksMovesWholeBlocks) {
  for (const std::uint64_t floats : {4, 36, 1024, 1500 * 4, 300 * 1024, 1, 6, 1027, 300'002}) {
    SCOPED_TRACE(floats);
    Random random(floats);
    const std::vector<BlockPair> pairs{{2, 0}, {0, 3}, {2, 1}};
    const std::vector<float> source = random.reals(3 * floats);
    const std::vector<float> before(4 * floats, kUnwritten);
    std::vector<float> after = before;
    for (const BlockPair& pair : pairs) {
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(pair.from * floats), floats,
                  after.begin() + static_cast<std::ptrdiff_t>(pair.to * floats));
    }
    const auto rig = this->rig();
    const CopyBlocksArgs args{.pairs = rig->input("pairs", pairs),
                              .source = rig->input("source", source),
                              .target = rig->output("target", before, after),
                              .block_bytes = floats * sizeof(float)};
    rig->expect(launch_of(args, args.shape(3)));
  }
}

TEST_P(RowKernels, EmbedTakesTheRowOfTheTokenOrOfTheDraft) {
  for (const int d : {1, 2, 30, 64, 516, 700}) {
    SCOPED_TRACE(d);
    const float multiplier = d % 4 == 0 ? 11.5f : 1.0f;
    Random random(static_cast<std::uint64_t>(d));
    constexpr int kVocabulary = 50;
    constexpr int kRows = 5;
    constexpr int kRowsMax = 8;  // of a graph's bucket
    const auto width = static_cast<std::size_t>(d);
    const std::vector<float> embedding = random.reals(kVocabulary * width);
    const std::vector<std::uint32_t> drafts{49, 3, 0};
    std::vector<RowInput> rows(kRowsMax, {.token = 4'000'000'000u});  // not to be looked at
    rows[0] = {.token = 0};
    rows[1] = {.token = 4'000'000'000u, .draft = 1};
    rows[2] = {.token = 49};
    rows[3] = {.token = 17};
    rows[4] = {.token = 4'000'000'000u, .draft = 0};
    const std::vector<std::uint32_t> tokens{0, 3, 49, 17, 49};
    const std::vector<float> before(kRowsMax * width, kUnwritten);
    std::vector<float> after = before;
    for (std::size_t row = 0; row < kRows; ++row) {
      std::copy_n(&embedding[tokens[row] * width], width, &after[row * width]);
      if (multiplier != 1) numerics::scale(&after[row * width], multiplier, d);
    }
    const auto rig = this->rig();
    const EmbedArgs args{.counts = rig->input("counts", std::vector<PassCounts>{{.rows = kRows}}),
                         .rows = rig->input("rows", rows),
                         .drafts = rig->input("drafts", drafts),
                         .embedding = rig->input("embedding", embedding),
                         .hidden = rig->output("hidden", before, after),
                         .hidden_size = d,
                         .multiplier = multiplier};
    rig->expect(launch_of(args, args.shape(kRowsMax)));
  }
}

TEST_P(RowKernels, RmsNormOfAllRowsOrOfThoseWithLogits) {
  for (const int d : {1, 2, 31, 32, 33, 64, 511, 512, 513, 1100}) {
    for (const bool of_logits : {false, true}) {
      SCOPED_TRACE(d);
      Random random(static_cast<std::uint64_t>(d));
      constexpr std::size_t kRows = 6;
      constexpr std::size_t kRowsMax = 8;
      const auto width = static_cast<std::size_t>(d);
      const std::vector<float> x = random.reals(kRows * width, 3.0f);
      const std::vector<float> weight = random.reals(width);
      const std::vector<LogitInput> logits{{.row = 4}, {.row = 0}, {.row = 5}};
      const std::vector<float> before(kRowsMax * width, kUnwritten);
      std::vector<float> after = before;
      for (std::size_t i = 0; i < (of_logits ? logits.size() : kRows); ++i) {
        const std::size_t row = of_logits ? logits[i].row : i;
        numerics::rms_norm(&x[row * width], weight.data(), d, 1e-5f, &after[i * width]);
      }
      const auto rig = this->rig();
      const std::vector<PassCounts> counts{{.rows = kRows, .logit_rows = 3}};
      const RmsNormArgs args{.counts = rig->input("counts", counts),
                             .logits = of_logits ? rig->input("logits", logits) : nullptr,
                             .x = rig->input("x", x),
                             .weight = rig->input("weight", weight),
                             .y = rig->output("y", before, after),
                             .size = d,
                             .eps = 1e-5f};
      rig->expect(launch_of(args, args.shape(kRowsMax)));
    }
  }
}

/// Heads, or all of them as one vector, in the middle of a wider row.
TEST_P(RowKernels, RmsNormOfVectorsOfARowInPlace) {
  struct Case {
    int groups;
    int size;
  };
  for (const auto& [groups, size] : {Case{1, 33}, {1, 160}, {3, 1}, {4, 32}, {5, 80}, {2, 131}}) {
    SCOPED_TRACE(testing::Message() << groups << " of " << size);
    Random random(static_cast<std::uint64_t>(100 * groups + size));
    constexpr std::size_t kRows = 3;
    constexpr std::size_t kRowsMax = 5;
    constexpr std::size_t kBefore = 7;  // floats of a row before the vectors
    const std::size_t stride = kBefore + static_cast<std::size_t>(groups * size) + 10;
    const std::vector<float> weight = random.reals(static_cast<std::size_t>(size));
    const std::vector<float> before = random.reals(kRowsMax * stride, 2.0f);
    std::vector<float> after = before;
    for (std::size_t row = 0; row < kRows; ++row) {
      for (int group = 0; group < groups; ++group) {
        float* const x = &after[row * stride + kBefore + static_cast<std::size_t>(group * size)];
        numerics::rms_norm(x, weight.data(), size, 1e-6f, x);
      }
    }
    const auto rig = this->rig();
    float* const rows = rig->output("qkv", before, after);
    const RmsNormArgs args{.counts = rig->input("counts", std::vector<PassCounts>{{.rows = kRows}}),
                           .logits = nullptr,
                           .x = rows + kBefore,
                           .weight = rig->input("weight", weight),
                           .y = rows + kBefore,
                           .size = size,
                           .eps = 1e-6f,
                           .groups = groups,
                           .x_stride = static_cast<int>(stride),
                           .y_stride = static_cast<int>(stride)};
    rig->expect(launch_of(args, args.shape(kRowsMax)));
  }
}

TEST_P(RowKernels, RmsNormIsAddedToAResidualStream) {
  for (const float multiplier : {1.0f, 0.22f}) {
    SCOPED_TRACE(multiplier);
    Random random(3);
    constexpr int kSize = 100;
    constexpr std::size_t kRows = 4;
    const std::vector<float> x = random.reals(kRows * kSize);
    const std::vector<float> weight = random.reals(kSize);
    const std::vector<float> before = random.reals(kRows * kSize, 4.0f);
    std::vector<float> after = before;
    for (std::size_t row = 0; row < kRows; ++row) {
      std::vector<float> added(kSize);
      numerics::rms_norm(&x[row * kSize], weight.data(), kSize, 1e-5f, added.data());
      numerics::add_scaled(&after[row * kSize], added.data(), multiplier, kSize);
    }
    const auto rig = this->rig();
    const RmsNormArgs args{.counts = rig->input("counts", std::vector<PassCounts>{{.rows = kRows}}),
                           .logits = nullptr,
                           .x = rig->input("x", x),
                           .weight = rig->input("weight", weight),
                           .y = rig->output("y", before, after),
                           .size = kSize,
                           .eps = 1e-5f,
                           .multiplier = multiplier,
                           .accumulate = true};
    rig->expect(launch_of(args, args.shape(kRows)));
  }
}

/// One row of the CPU's.
void gate(const GluFunction& function, const float* gate_up, int size, float* gated) {
  switch (function.kind) {
    case GluFunction::Kind::silu:
      return numerics::silu_multiply(gate_up, gate_up + size, size, gated);
    case GluFunction::Kind::gelu_tanh:
      return numerics::gelu_tanh_multiply(gate_up, gate_up + size, size, gated);
    case GluFunction::Kind::clamped_swiglu:
      return numerics::clamped_swiglu(gate_up, gate_up + size, function.clamp, size, gated);
  }
}

class GatedLinearUnits : public KernelTest {
 protected:
  void expect(const GluFunction& function, int size) const {
    SCOPED_TRACE(testing::Message()
                 << "function " << static_cast<int>(function.kind) << " F " << size);
    Random random(static_cast<std::uint64_t>(size));
    constexpr std::size_t kRows = 3;
    constexpr std::size_t kRowsMax = 4;
    const auto width = static_cast<std::size_t>(size);
    std::vector<float> gate_up = random.reals(kRowsMax * 2 * width, 8.0f);
    gate_up[0] = -200.0f;  // e^200 overflows
    std::vector<float> before(kRowsMax * width, kUnwritten);
    std::vector<float> after = before;
    for (std::size_t row = 0; row < kRows; ++row) {
      gate(function, &gate_up[row * 2 * width], size, &after[row * width]);
    }
    const auto rig = this->rig();
    const GluArgs args{.counts = rig->input("counts", std::vector<PassCounts>{{.rows = kRows}}),
                       .gate_up = rig->input("gate_up", gate_up),
                       .gated = rig->output("gated", before, after),
                       .size = size,
                       .function = function};
    rig->expect(launch_of(args, args.shape(kRowsMax)));
  }
};
FORGE_KERNEL_TEST_TARGETS(GatedLinearUnits);

TEST_P(GatedLinearUnits, GateEachElement) {
  using Kind = GluFunction::Kind;
  for (const int size : {1, 3, 4, 30, 128, 516, 1111}) {
    for (const Kind kind : {Kind::silu, Kind::gelu_tanh, Kind::clamped_swiglu}) {
      expect({kind, {.alpha = 1.702f, .limit = 3.0f}}, size);
    }
  }
}

}  // namespace
}  // namespace forge::gpu
