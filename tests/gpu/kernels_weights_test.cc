// Weights of 16 bits: project and embed have the bits of linear/product.h and of stored_row.
#include <algorithm>
#include <bit>

#include "forge/linear/linear_weights.h"
#include "forge/linear/product.h"
#include "forge/numerics/half.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {
namespace {

using linear::StoredLinear;
using quant::WeightType;

/// A matrix [outputs][inputs] as a checkpoint stores it.
struct StoredMatrix {
  StoredMatrix(WeightType type_in, int outputs_in, int inputs_in, Random& random)
      : type(type_in), outputs(outputs_in), inputs(inputs_in) {
    const auto count = static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs);
    for (std::size_t i = 0; i < count; ++i) append(random);
  }

  StoredLinear stored() const {
    return {.outputs = outputs, .inputs = inputs, .form = linear::StoredRows{type, bytes.data()}};
  }

  WeightType type;
  int outputs;
  int inputs;
  std::vector<std::byte> bytes;

 private:
  template <class Word>
  void append_word(Word word) {
    const auto* first = reinterpret_cast<const std::byte*>(&word);
    bytes.insert(bytes.end(), first, first + sizeof word);
  }
  /// One number: of 16 bits any finite one up to about 1, subnormals and zeros of both signs too.
  void append(Random& random) {
    const std::uint32_t word = random.word();
    const auto sign = static_cast<std::uint16_t>(word & 0x8000u);
    if (type == WeightType::f32) {
      append_word(random.real());
    } else if (type == WeightType::f16) {
      append_word(static_cast<std::uint16_t>(sign | word % 0x3c00u));
    } else {
      append_word(static_cast<std::uint16_t>(sign | word % 0x3f80u));
    }
  }
};

/// Floats in (-1, 1), of which some lie halfway between two bf16.
std::vector<float> activations(std::size_t count, Random& random) {
  std::vector<float> x = random.reals(count);
  for (std::size_t i = 0; i < count; i += 3) {
    x[i] = std::bit_cast<float>((std::bit_cast<std::uint32_t>(x[i]) & 0xffff0000u) | 0x8000u);
  }
  return x;
}

class WeightsOf16Bits : public KernelTest {
 protected:
  struct Part {
    WeightType type;
    int outputs;
  };

  /// One launch a section, each writes its outputs of the rows.
  void expect(const std::vector<Part>& parts, int rows, int inputs) const {
    SCOPED_TRACE(testing::Message() << parts.size() << " parts, rows " << rows << " K " << inputs);
    Random random(static_cast<std::uint64_t>(100 * inputs + rows));
    std::vector<StoredMatrix> matrices;
    for (const Part& part : parts) matrices.emplace_back(part.type, part.outputs, inputs, random);
    std::vector<StoredLinear> stored;
    for (const StoredMatrix& matrix : matrices) stored.push_back(matrix.stored());
    linear::ThreadPool pool(1);
    const linear::LinearWeights weights(stored, pool, linear::Numerics::canonical);

    const auto row_count = static_cast<std::size_t>(rows);
    const auto width = static_cast<std::size_t>(weights.outputs());
    const std::vector<float> x = activations(row_count * static_cast<std::size_t>(inputs), random);
    const std::vector<float> before = random.reals((row_count + 2) * width);
    std::vector<float> after = before;
    linear::multiply_reference(x.data(), rows, stored, after.data());

    const auto rig = this->rig(random.word());
    const std::uint32_t* count =
        rig->input("row_count", std::vector{static_cast<std::uint32_t>(rows)});
    const float* device_x = rig->input("x", x);
    float* y = rig->output("y", before, after);
    std::vector<KernelLaunch> launches;
    for (const linear::Section& section : weights.sections()) {
      const std::size_t bytes =
          static_cast<std::size_t>(section.panel_count()) * section.panel_bytes;
      const std::vector<std::byte> panels(section.panels, section.panels + bytes);
      const ProjectArgs args{.row_count = count,
                             .x = device_x,
                             .panels = rig->input("panels", panels),
                             .y = y + section.first_output,
                             .inputs = inputs,
                             .outputs = section.outputs,
                             .accumulate = false,
                             .y_stride = weights.outputs(),
                             .kind = section.kind};
      launches.push_back(launch_of(args, args.shape(rows + 2)));
    }
    rig->expect(launches);
  }
};
FORGE_KERNEL_TEST_TARGETS(WeightsOf16Bits);

TEST_P(WeightsOf16Bits, InputsOfEveryTail) {
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    for (const int inputs : {1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 255, 256, 257, 511, 600}) {
      expect({{type, 33}}, 1, inputs);
      expect({{type, 40}}, 6, inputs);
    }
  }
}

TEST_P(WeightsOf16Bits, RowsOfEveryTile) {
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    for (const int rows : {2, 3, 4, 5, 8, 9, 17}) expect({{type, 65}}, rows, 70);
  }
}

TEST_P(WeightsOf16Bits, SeveralRoundsOfSegments) {
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    expect({{type, 32}}, 3, 9 * 256 + 17);
  }
}

TEST_P(WeightsOf16Bits, SectionsOfSeveralKindsSideBySide) {
  expect({{WeightType::bf16, 40}, {WeightType::f32, 33}, {WeightType::f16, 7}}, 5, 131);
  expect({{WeightType::bf16, 40}, {WeightType::bf16, 25}, {WeightType::f32, 64}}, 9, 48);
}

TEST_P(WeightsOf16Bits, EmbeddingsAreWidened) {
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    for (const int d : {1, 6, 64, 516, 700}) {
      SCOPED_TRACE(d);
      Random random(static_cast<std::uint64_t>(d));
      constexpr std::size_t kRows = 4;
      const StoredMatrix matrix(type, 30, d, random);
      const std::vector<RowInput> rows{{.token = 29}, {.token = 0}, {.token = 7}, {.token = 29}};
      const auto width = static_cast<std::size_t>(d);
      std::vector<float> after(kRows * width);
      for (std::size_t row = 0; row < kRows; ++row) {
        linear::stored_row(matrix.stored(), static_cast<int>(rows[row].token), &after[row * width]);
      }
      const auto rig = this->rig();
      const EmbedArgs args{
          .counts = rig->input("counts", std::vector<PassCounts>{{.rows = kRows}}),
          .rows = rig->input("rows", rows),
          .drafts = rig->input("drafts", std::vector<std::uint32_t>{0}),
          .embedding = rig->input("embedding", matrix.bytes),
          .hidden = rig->output("hidden", after),
          .hidden_size = d,
          .kind = type == WeightType::f16 ? linear::PanelKind::f16 : linear::PanelKind::bf16};
      rig->expect(launch_of(args, args.shape(kRows)));
    }
  }
}

}  // namespace
}  // namespace forge::gpu
