// add_experts: the sums of what a row's experts have made, and the rows that the next norm reads.
#include <algorithm>

#include "forge/numerics/scaled_norm.h"
#include "forge/numerics/tensor_product.h"
#include "forge/numerics/vector_ops.h"
#include "gpu/expert_choices.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {
namespace {

class AddExperts : public KernelTest {
 protected:
  /// Experts beside those that a row chose.
  enum class SharedOnes { none, added, behind_a_gate };

  struct Case {
    int rows;
    int size;
    int per_row;
    SharedOnes kind;
    bool accumulate;
  };

  /// The arrays of a case, and its sums.
  struct Made {
    Random random;
    std::unique_ptr<KernelRig> rig;
    AddExpertsArgs args;
    std::vector<float> after;  ///< [rows + 1][d]
  };

  Made make(const Case& c) const {
    const auto& [rows, size, per_row, kind, accumulate] = c;
    const bool shared = kind != SharedOnes::none;
    const bool gated = kind == SharedOnes::behind_a_gate;
    constexpr float kMultiplier = 0.7f;
    Random random(size_of(rows, size, per_row));
    const std::vector<ExpertChoice> choices = random_choices(rows, per_row + 3, per_row, random);
    const std::vector<float> produced = random.reals(size_of(rows, per_row, size));
    const std::vector<float> from_shared = random.reals(size_of(rows, size));
    const std::vector<float> gates = random.reals(size_of(rows), 4.0f);
    const std::vector<float> before = random.reals(size_of(rows + 1, size));
    std::vector<float> after = before;
    for (int row = 0; row < rows; ++row) {
      std::vector<float> sum(size_of(size), 0.0f);
      for (int i = 0; i < per_row; ++i) {
        const std::size_t pair = size_of(row, per_row) + size_of(i);
        numerics::add_scaled(sum.data(), produced.data() + pair * size_of(size),
                             choices[pair].weight, size);
      }
      const float z = gated ? gates[size_of(row)] : 0;
      const float gate = gated ? numerics::divide(1.0f, 1.0f + numerics::exp(-z)) : 1;
      if (shared) {
        numerics::add_scaled(sum.data(), from_shared.data() + size_of(row, size), gate, size);
      }
      float* y = after.data() + size_of(row, size);
      if (accumulate) {
        numerics::add_scaled(y, sum.data(), kMultiplier, size);
      } else {
        std::ranges::copy(sum, y);
      }
    }
    auto rig = this->rig(random.word());
    const AddExpertsArgs args{.counts = rig->input("counts", std::vector{counts_of(rows)}),
                              .choices = rig->input("choices", choices),
                              .produced = rig->input("produced", produced),
                              .shared = shared ? rig->input("shared", from_shared) : nullptr,
                              .y = rig->output("y", before, after),
                              .size = size,
                              .experts_per_token = per_row,
                              .accumulate = accumulate,
                              .multiplier = kMultiplier,
                              .shared_gates = gated ? rig->input("gates", gates) : nullptr};
    return {random, std::move(rig), args, after};
  }

  static testing::Message text_of(const Case& c) {
    return testing::Message() << "rows " << c.rows << " d " << c.size << " A " << c.per_row
                              << " shared " << static_cast<int>(c.kind) << " accumulate "
                              << c.accumulate;
  }

  void expect(const Case& c) const {
    SCOPED_TRACE(text_of(c));
    const Made made = make(c);
    made.rig->expect(launch_of(made.args, made.args.shape(c.rows + kRowsBeyond)));
  }

  /// With the rows of the next norm, which has weights or not.
  template <class Half>
  void expect_next(const Case& c, bool weight) const {
    SCOPED_TRACE(text_of(c) << " next, weight " << weight);
    Made made = make(c);
    const std::size_t count = size_of(c.rows, c.size);
    const std::vector<float> weights = made.random.reals(size_of(c.size));
    const std::vector<Half> h_before(count + 1, Half{0xffff});
    const std::vector<float> squares_before(count / 8 + 1, 7.0f);
    std::vector<Half> h = h_before;
    std::vector<float> squares = squares_before;
    for (std::size_t i = 0; i < count; ++i) {
      const float y = made.after[i];
      h[i] = numerics::half_of<Half>(weight ? y * weights[i % size_of(c.size)] : y);
      if (i % 8 == 0) squares[i / 8] = numerics::group_of_squares(&made.after[i]);
    }
    made.args.next = {
        .h = made.rig->output("h", h_before, h),
        .weight = weight ? made.rig->input("weight", weights) : nullptr,
        .squares = weight ? made.rig->output("squares", squares_before, squares) : nullptr};
    made.args.type =
        std::is_same_v<Half, numerics::F16> ? numerics::HalfType::f16 : numerics::HalfType::bf16;
    made.rig->expect(launch_of(made.args, made.args.shape(c.rows + kRowsBeyond)));
  }
};
FORGE_KERNEL_TEST_TARGETS(AddExperts);

TEST_P(AddExperts, OfAnyNumberWithAndWithoutSharedOnes) {
  for (const int size : {1, 31, 128, 129, 300}) {
    for (const int per_row : {1, 2, 8}) {
      expect({4, size, per_row, SharedOnes::none, false});
      expect({4, size, per_row, SharedOnes::added, true});
      expect({4, size, per_row, SharedOnes::behind_a_gate, per_row == 2});
    }
  }
  expect({0, 8, 2, SharedOnes::behind_a_gate, true});
}

/// Groups on both sides of the end of a warp and of a block.
TEST_P(AddExperts, LeavesWhatTheNextNormNeeds) {
  for (const int size : {8, 32, 40, 128, 136, 296}) {
    const Case c{3, size, 4, SharedOnes::behind_a_gate, true};
    expect_next<numerics::BF16>(c, true);
    expect_next<numerics::F16>(c, false);
  }
  expect_next<numerics::BF16>({2, 72, 1, SharedOnes::none, true}, true);
  expect_next<numerics::BF16>({0, 72, 2, SharedOnes::none, true}, true);
}

}  // namespace
}  // namespace forge::gpu
