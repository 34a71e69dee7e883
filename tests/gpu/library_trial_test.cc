// A library is admitted where its sums have the bits of project_wide, for numbers that tell, and
// refused by name where one of them has not.
#include "library_trial.h"

#include <gtest/gtest.h>

#include <optional>
#include <span>

#include "forge/numerics/tensor_product.h"
#include "forge/sim/sim_device.h"
#include "gpu/test_library.h"
#include "probe_numbers.h"

namespace forge::testing {
namespace {

using gpu::LibraryReport;
using gpu::LibraryShape;
using numerics::HalfType;

/// Of which products have as many rows, and fewer.
const std::vector<gpu::MatrixSize> kSizes{{.outputs = 40, .inputs = 72, .rows_max = 300},
                                          {.outputs = 264, .inputs = 136, .rows_max = 200}};

sim::SimOptions options_of(TestLibrary& library) {
  return {.device = sim::find_device("h200").value(), .library = &library};
}

LibraryReport report_of(std::vector<Way> ways, HalfType type = HalfType::bf16) {
  TestLibrary library(std::move(ways));
  sim::SimDevice device(options_of(library));
  auto report = gpu::try_library(device, library, kSizes, type);
  EXPECT_TRUE(report);
  EXPECT_EQ(device.statistics().bytes_allocated, 0U);
  return *std::move(report);
}

std::vector<LibraryShape> shapes_of(HalfType type) {
  std::vector<LibraryShape> shapes;
  for (const gpu::MatrixSize& size : kSizes) {
    for (const int rows : {16, 32, 64, 128, 256}) {
      if (rows <= size.rows_max) shapes.push_back({rows, size.outputs, size.inputs, type});
    }
  }
  return shapes;
}

TEST(LibraryTrial, admits_the_favourite_for_each_shape_and_number_of_rows) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    const LibraryReport report = report_of({Way::right, Way::right}, type);
    EXPECT_EQ(report.library, "test library 1.0");
    EXPECT_TRUE(report.refused.empty());
    std::vector<LibraryShape> admitted;
    for (const auto& each : report.admitted) admitted.push_back(each.shape);
    EXPECT_EQ(admitted, shapes_of(type));
  }
}

/// Each for every shape, and the next algorithm is taken.
TEST(LibraryTrial, refuses_every_algorithm_that_lies) {
  for (const Way way : {Way::splits, Way::drops_tail, Way::one_bit, Way::unwritten}) {
    SCOPED_TRACE(forge::name_of(way));
    for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
      const LibraryReport report = report_of({way, Way::right}, type);
      ASSERT_EQ(report.refused.size(), 9U);
      ASSERT_EQ(report.admitted.size(), 9U);
      for (const auto& each : report.refused) EXPECT_EQ(each.algorithm, forge::name_of(way));
      for (const auto& each : report.admitted) EXPECT_EQ(each.algorithm.name, "right");
    }
  }
}

TEST(LibraryTrial, admits_for_the_shapes_alone_where_the_bits_are_right) {
  const LibraryReport report = report_of({Way::by_shape});
  ASSERT_EQ(report.admitted.size(), 2U);
  ASSERT_EQ(report.refused.size(), 7U);
  EXPECT_EQ(to_string(report.admitted[1]), "128 x 264 x 136 bf16: by_shape");
  EXPECT_EQ(report.refused[3].shape.rows, 256);
}

TEST(LibraryTrial, says_what_was_wrong) {
  EXPECT_EQ(to_string(report_of({Way::one_bit}).refused[0]),
            "16 x 40 x 72 bf16: one_bit: other sums in 1 of 16 rows of cancelling numbers");
  EXPECT_EQ(to_string(report_of({Way::unwritten}).refused[8]),
            "128 x 264 x 136 bf16: unwritten: other sums in 1 of 128 rows of cancelling numbers");
  EXPECT_EQ(to_string(report_of({}).refused[0]), "16 x 40 x 72 bf16: no algorithm for it");
  TestLibrary library({Way::right});
  sim::SimDevice device(options_of(library));
  const auto report =
      gpu::try_library(device, library, {{TestLibrary::kOutputsRefused, 16, 128}}, HalfType::bf16);
  ASSERT_TRUE(report);
  EXPECT_EQ(to_string(report->refused.at(0)),
            "16 x 56 x 16 bf16: heuristic: not supported (device test)");
}

/// Rows of some numbers that have other sums when both halves of K are added up apart.
int rows_that_tell(gpu::ProbeKind kind, int rows, int inputs) {
  constexpr int kOutputs = 8;
  using numerics::BF16;
  const auto x = gpu::probe_rows(kind, HalfType::bf16, rows, inputs);
  const auto weights = gpu::probe_weights(kind, HalfType::bf16, kOutputs, inputs);
  const auto row_of = [inputs](const std::vector<std::uint16_t>& matrix, int row) {
    std::vector<BF16> numbers;
    for (int k = 0; k < inputs; ++k) {
      numbers.push_back({matrix[static_cast<std::size_t>(row * inputs + k)]});
    }
    return numbers;
  };
  int telling = 0;
  for (int row = 0; row < rows; ++row) {
    bool tells = false;
    for (int n = 0; n < kOutputs; ++n) {
      const std::vector<BF16> a = row_of(x, row);
      const std::vector<BF16> w = row_of(weights, n);
      const std::span<const BF16> all_w(w);
      const std::span<const BF16> all_a(a);
      const std::size_t half = w.size() / 2;
      const auto sum = [](std::span<const BF16> b, std::span<const BF16> c) {
        return numerics::tensor_product<BF16>(numerics::kMmaSm90, b, c);
      };
      tells |= sum(all_w, all_a) != sum(all_w.first(half), all_a.first(half)) +
                                        sum(all_w.subspan(half), all_a.subspan(half));
    }
    telling += tells ? 1 : 0;
  }
  return telling;
}

/// Those of each kind, in nearly all of their rows.
TEST(LibraryTrial, has_numbers_that_tell_orders_apart) {
  constexpr int kRows = 61;
  for (const gpu::ProbeKind kind : {gpu::ProbeKind::cancelling, gpu::ProbeKind::spread}) {
    for (const int inputs : {64, 136, 1024}) {
      EXPECT_GT(rows_that_tell(kind, kRows, inputs), kRows * 3 / 4) << inputs;
    }
  }
}

/// A call that fails is an error of the trial; but one of the library, or a lost device, is known
/// as what it is. In none of the cases is anything left.
TEST(LibraryTrial, passes_on_what_fails) {
  using sim::DeviceCall;
  using sim::Fault;
  int failed = 0;
  int refused = 0;
  for (std::uint64_t at = 0;; ++at) {
    TestLibrary library({Way::right});
    sim::SimOptions options = options_of(library);
    std::optional<DeviceCall::Kind> met;
    options.faults = [&](const DeviceCall& call) {
      if (call.index != at) return Fault::none;
      met = call.kind;
      return Fault::fails;
    };
    sim::SimDevice device(options);
    const auto report =
        gpu::try_library(device, library, {{40, 72, gpu::kLibraryRowsMin}}, HalfType::bf16);
    if (!met) break;
    SCOPED_TRACE(at);
    EXPECT_EQ(report.has_value(), met == DeviceCall::Kind::multiply);
    if (!report) {
      ++failed;
      continue;
    }
    ++refused;
    EXPECT_TRUE(report->admitted.empty());
    ASSERT_EQ(report->refused.size(), 1U);
    EXPECT_NE(report->refused[0].reason.find("injected fault"), std::string::npos);
  }
  EXPECT_EQ(refused, 2);  // one for each kind of numbers
  EXPECT_GT(failed, 20);
}

}  // namespace
}  // namespace forge::testing
