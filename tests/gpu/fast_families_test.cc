// Every family of the CPU's table in fast numerics: what comes out of a request alone is the
// definition's (fast_reference.h), and comes out whatever is scheduled beside it and however. A
// family that joins the table and has no golden model fails here, by its name.
#include "gpu/fast_families.h"

#include <gmock/gmock.h>

#include "gpu/fast_runs.h"

namespace forge::testing {
namespace {

using quant::WeightType;

TEST(FastFamilies, are_all_of_the_table) {
  EXPECT_THAT(families_without(family_shapes()), ::testing::IsEmpty());
  std::vector<FastShape> fewer = family_shapes();
  std::erase_if(fewer, [](const FastShape& shape) { return shape.config.family == "phi3"; });
  EXPECT_THAT(families_without(fewer), ::testing::ElementsAre("phi3"));
}

class FastFamilies : public ::testing::TestWithParam<FastShape> {};

TEST_P(FastFamilies, have_the_bits_of_the_definition) {
  FastModel bf16(GetParam().config, WeightType::bf16);
  expect_reference(bf16, {.scheduler = roomy(16)}, 33);
  FastModel f16(GetParam().config, WeightType::f16);
  expect_reference(f16, {.kv_type = numerics::KvType::f16, .scheduler = roomy(5)}, 9);
}

TEST_P(FastFamilies, depend_on_the_request_alone) {
  FastModel model(GetParam().config, WeightType::bf16);
  expect_alone_as_beside(model, Replayer::sim, {}, {.requests = 4, .blocks = 13, .checked = false});
}

INSTANTIATE_TEST_SUITE_P(Of, FastFamilies, ::testing::ValuesIn(family_shapes()),
                         [](const auto& of) { return "sim_" + of.param.name; });

}  // namespace
}  // namespace forge::testing
