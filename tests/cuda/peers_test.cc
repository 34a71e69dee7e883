// The section "peers" of forge-cuda-bench on the simulated device, with small shapes: our levels
// run as they do on a GPU, and libraries are stood in for by ones that compute the definition from
// the lists that they are given, or what a test wants found.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "forge/numerics/attention.h"
#include "forge/sim/sim_device.h"
#include "peers_attention.h"
#include "peers_products.h"

namespace forge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using Json = nlohmann::ordered_json;
using numerics::BF16;

// ---- Bits ---------------------------------------------------------------------------------------

TEST(CompareBits, finds_a_single_planted_difference) {
  const std::vector<float> a{1, 0, -2.5F, 3e-40F};
  EXPECT_EQ(compare_bits(a, a), (BitComparison{.compared = 4}));
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<float> b = a;
    b[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(b[i]) ^ 1U);
    EXPECT_EQ(compare_bits(a, b), (BitComparison{.compared = 4, .different = 1}));
  }
}

TEST(CompareBits, tells_zeros_apart_and_takes_no_nan_for_a_result) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(compare_bits(std::vector{0.0F, nan, 1.0F}, std::vector{-0.0F, nan, 1.0F}),
            (BitComparison{.compared = 3, .different = 2}));
}

TEST(LargestDifference, is_infinite_where_there_is_no_number) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(largest_difference(std::vector{1.0F, -2.0F}, std::vector{1.5F, 2.0F}), 4.0);
  EXPECT_EQ(largest_difference(std::vector{nan, 0.0F}, std::vector{0.0F, 0.0F}),
            std::numeric_limits<double>::infinity());
}

// ---- What both sides are given ------------------------------------------------------------------

AttentionSizes small_sizes() {
  return {.shape = {.heads = 4, .kv_heads = 1, .head_size = 32, .block_size = 16},
          .batches = {1, 3},
          .contexts = {40, 300},
          .prompt = 70,
          .chunk = 24,
          .decode_launches = 2,
          .prefill_launches = 1,
          .read_bytes = std::uint64_t{1} << 16};
}

class Peers : public ::testing::Test {
 protected:
  sim::SimDevice device_{{.device = sim::find_device("h200").value()}};
};

TEST_F(Peers, get_the_same_blocks_lengths_and_queries) {
  const PeerCache cache(device_, small_sizes().shape, {.sequences = 4, .context = 100});
  const AttentionBatch batch{{2, 100, 20}, {0, 33, 33}, {3, 16, 1}, {1, 17, 9}};
  const BatchRows ours = rows_of(batch, 8);
  const PageLists theirs = pages_of(batch, cache);
  EXPECT_EQ(ours.counts.rows, rows_in(batch));
  EXPECT_THAT(theirs.query_begins, ElementsAre(0, 20, 53, 54, 63));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto pages =
        std::span(theirs.pages)
            .subspan(static_cast<std::size_t>(theirs.page_begins[i]))
            .first(static_cast<std::size_t>(theirs.page_begins[i + 1] - theirs.page_begins[i]));
    const auto length = 16 * (static_cast<std::uint32_t>(pages.size()) - 1) +
                        static_cast<std::uint32_t>(theirs.last_page_rows[i]);
    const auto first = static_cast<std::uint32_t>(theirs.query_begins[i]);
    const auto rows = static_cast<std::uint32_t>(theirs.query_begins[i + 1]) - first;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const gpu::RowInput& input = ours.rows[first + row];
      EXPECT_EQ(input.position, length - rows + row);
      const auto table = cache.table(input.table);
      EXPECT_TRUE(std::equal(pages.begin(), pages.end(), table.begin()));
    }
  }
}

TEST_F(Peers, ask_the_same_of_a_row_whatever_its_batch) {
  const PeerCache cache(device_, small_sizes().shape, {.sequences = 2, .context = 50});
  const std::vector<BF16> together = cache.queries({{1, 50, 3}, {0, 40, 2}});
  const std::vector<BF16> alone = cache.queries({{0, 40, 1}});
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.end() - 128));
  EXPECT_FALSE(std::equal(alone.begin(), alone.end(), together.begin()));
}

TEST(BatchRows, decode_if_each_request_has_one_and_are_tiles_of_one_request_otherwise) {
  const BatchRows decodes = rows_of({{0, 5, 1}, {1, 9, 1}}, 8);
  EXPECT_EQ(decodes.counts.decode_rows, 2U);
  EXPECT_THAT(decodes.tiles, SizeIs(0));
  const BatchRows tiles = rows_of({{0, 5, 1}, {1, 30, 17}}, 8);
  EXPECT_EQ(tiles.counts.decode_rows, 0U);
  const auto tile = [](std::uint32_t first, std::uint32_t count) {
    return AllOf(Field(&gpu::PromptTile::first, first), Field(&gpu::PromptTile::count, count));
  };
  EXPECT_THAT(tiles.tiles, ElementsAre(tile(0, 1), tile(1, 8), tile(9, 8), tile(17, 1)));
  EXPECT_EQ(tiles.longest_tile, 8U);
  EXPECT_EQ(tiles.longest, 30U);
}

TEST(Companies, of_a_decode_are_others_and_none) {
  const std::vector<Company> of_three = companies_of({.batch = 3, .context = 40});
  ASSERT_THAT(of_three, SizeIs(2));
  EXPECT_EQ(of_three[0].batch[of_three[0].first].sequence, 0U);
  EXPECT_EQ(of_three[0].batch[of_three[0].first].length, 40U);
  EXPECT_THAT(of_three[1].batch, SizeIs(1));
  EXPECT_THAT(companies_of({.batch = 1, .context = 40}), SizeIs(1));
}

TEST(Companies, of_a_prefill_are_chunks_that_have_all_rows_and_another_request) {
  const std::vector<Company> companies =
      companies_of({.phase = AttentionCase::Phase::prefill, .context = 100, .rows = 60});
  ASSERT_THAT(companies, SizeIs(4));
  std::uint32_t done = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(companies[i].of_case, done);
    done += companies[i].count;
    ASSERT_THAT(companies[i].batch, SizeIs(1));
    EXPECT_EQ(companies[i].batch[0].length, 40 + done);
    EXPECT_EQ(companies[i].batch[0].rows, companies[i].count);
  }
  EXPECT_EQ(done, 60U);
  EXPECT_EQ(companies[3].first, companies[3].batch[0].rows);
  EXPECT_EQ(companies[3].count, 60U);
}

// ---- Attention ----------------------------------------------------------------------------------

/// Computes the definition from lists and strides alone.
class ListedAttention : public PagedAttention {
 public:
  explicit ListedAttention(const PagedCache& cache) : cache_(cache) {}

  tl::expected<void, std::string> plan(const PagedBatch& batch) override {
    batch_.emplace(batch);
    return {};
  }
  tl::expected<void, std::string> run(int layer) override {
    for (std::size_t i = 0; i < lists().last_page_rows.size(); ++i) {
      const int rows = lists().query_begins[i + 1] - lists().query_begins[i];
      for (int row = 0; row < rows; ++row) {
        for (int head = 0; head < cache_.kv_heads; ++head) attend_row(layer, i, row, head);
      }
    }
    return {};
  }
  tl::expected<double, std::string> time_us(int launches) override {
    for (int i = 0; i < launches; ++i) run(i % cache_.layers);
    return 10.0;
  }

 protected:
  const PageLists& lists() const { return batch_->on_host; }
  BF16* out() const { return static_cast<BF16*>(batch_->out); }

 private:
  void attend_row(int layer, std::size_t request, int row, int head) {
    const auto begin = static_cast<std::size_t>(lists().page_begins[request]);
    const auto end = static_cast<std::size_t>(lists().page_begins[request + 1]);
    const std::vector<std::uint32_t> blocks(batch_->pages + begin, batch_->pages + end);
    const int length =
        static_cast<int>(blocks.size() - 1) * cache_.page_size + batch_->last_page_rows[request];
    const int rows = lists().query_begins[request + 1] - lists().query_begins[request];
    const std::int64_t at = layer * cache_.layer_stride + head * cache_.head_stride;
    const numerics::PagedKV kv{.keys = static_cast<const BF16*>(cache_.keys) + at,
                               .values = static_cast<const BF16*>(cache_.values) + at,
                               .block_stride = cache_.page_stride,
                               .block_size = cache_.page_size,
                               .head_size = cache_.head_size,
                               .blocks = blocks,
                               .length = length - rows + row + 1,
                               .type = numerics::KvType::bf16};
    const int group = cache_.heads / cache_.kv_heads;
    const auto numbers = static_cast<std::size_t>(group * cache_.head_size);
    const std::size_t first = (static_cast<std::size_t>(lists().query_begins[request] + row) *
                                   static_cast<std::size_t>(cache_.kv_heads) +
                               static_cast<std::size_t>(head)) *
                              numbers;
    std::vector<float> q(numbers);
    std::transform(static_cast<const BF16*>(batch_->queries) + first,
                   static_cast<const BF16*>(batch_->queries) + first + numbers, q.begin(),
                   [](BF16 x) { return numerics::widened(x); });
    std::vector<float> result(numbers);
    attend_reference({.q = q.data(), .heads = group, .scale = cache_.scale}, kv, result.data());
    std::ranges::transform(result, out() + first,
                           [](float x) { return numerics::stored<BF16>(x); });
  }

  PagedCache cache_;
  std::optional<PagedBatch> batch_;
};

/// The same, with another bit in the first result of each row wherever there are several requests.
class CompanyAttention final : public ListedAttention {
 public:
  using ListedAttention::ListedAttention;

  tl::expected<void, std::string> run(int layer) override {
    const auto done = ListedAttention::run(layer);
    if (lists().last_page_rows.size() == 1) return done;
    const AttentionShape shape = small_sizes().shape;
    for (int row = 0; row < lists().query_begins.back(); ++row) {
      out()[static_cast<std::size_t>(row) * shape.row_numbers()].bits ^= 1;
    }
    return done;
  }
};

template <class Library>
LevelMaker listed_level(const char* name) {
  return paged_level(name, {.floats = 256, .plan = 256},
                     [](const PagedCache& cache, const PagedWorkspace&) -> MadePaged {
                       return std::make_unique<Library>(cache);
                     });
}

std::vector<AttentionResult> measured(gpu::Device& device, const AttentionSizes& sizes,
                                      const std::vector<LevelMaker>& libraries) {
  const LevelsOf levels = [&](AttentionCase::Phase) {
    std::vector<LevelMaker> all = own_levels();
    all.insert(all.end(), libraries.begin(), libraries.end());
    return all;
  };
  std::vector<AttentionResult> results;
  measure_attention(device, sizes, levels,
                    [&](const AttentionResult& result) { results.push_back(result); });
  return results;
}

TEST_F(Peers, of_which_one_goes_by_lists_have_the_bits_of_the_definition_rounded) {
  const PeerCache cache(device_, {.heads = 8, .kv_heads = 2, .head_size = 32, .block_size = 16},
                        {.sequences = 3, .context = 300, .layers = 2});
  const auto definition = own_levels()[0].make(device_, cache).value();
  const auto listed = listed_level<ListedAttention>("listed").make(device_, cache).value();
  for (const AttentionBatch& batch : {AttentionBatch{{1, 300, 1}, {0, 17, 1}, {2, 64, 1}},
                                      AttentionBatch{{2, 300, 9}, {1, 40, 11}}}) {
    ASSERT_TRUE(definition->plan(batch) && listed->plan(batch));
    std::vector<float> rounded = definition->attend().value();
    for (float& x : rounded) x = numerics::widened(numerics::stored<BF16>(x));
    EXPECT_EQ(compare_bits(rounded, listed->attend().value()),
              (BitComparison{.compared = rows_in(batch) * 256}));
  }
}

TEST_F(Peers, of_ours_keep_the_bits_of_a_request_in_every_company) {
  const std::vector<AttentionResult> results =
      measured(device_, small_sizes(), {listed_level<ListedAttention>("listed")});
  ASSERT_THAT(results, SizeIs(3 * 6));
  for (const AttentionResult& result : results) {
    SCOPED_TRACE(to_text(small_sizes().shape, result));
    EXPECT_EQ(result.not_run, "");
    EXPECT_GT(result.us, 0.0);
    EXPECT_TRUE(result.company.survived());
    EXPECT_GT(result.company.compared, 0U);
    // Weights and results of bf16: values are below 1.
    EXPECT_LE(result.from_definition.value(), 0x1p-7);
    EXPECT_EQ(result.from_definition == 0.0, result.level == "definition");
    EXPECT_EQ(result.from_ours.has_value(), result.level != "definition");
  }
}

TEST_F(Peers, whose_bits_depend_on_the_batch_are_told_apart) {
  AttentionSizes sizes = small_sizes();
  sizes.contexts = {40};
  for (const AttentionResult& result :
       measured(device_, sizes, {listed_level<CompanyAttention>("changes")})) {
    EXPECT_EQ(result.company.survived(), result.level != "changes") << result.level;
    const Json json = to_json(sizes.shape, result);
    EXPECT_EQ(json["bits_survive"], result.company.survived());
    EXPECT_EQ(json["different"], result.company.different);
    EXPECT_THAT(to_text(sizes.shape, result),
                result.level == "changes" ? HasSubstr("  no: ") : HasSubstr("  yes\n"));
  }
}

TEST_F(Peers, that_are_not_there_say_why) {
  AttentionSizes sizes = small_sizes();
  sizes.contexts = {40};
  sizes.batches = {1};
  const LevelMaker missing = paged_level("missing", {.floats = 256, .plan = 256},
                                         [](const PagedCache&, const PagedWorkspace&) -> MadePaged {
                                           return tl::unexpected(std::string("built without it"));
                                         });
  for (const AttentionResult& result : measured(device_, sizes, {missing})) {
    const Json json = to_json(sizes.shape, result);
    EXPECT_EQ(json.contains("us"), result.level != "missing");
    if (result.level != "missing") continue;
    EXPECT_EQ(json["not_run"], "built without it");
    EXPECT_THAT(to_text(sizes.shape, result), HasSubstr("not run: built without it\n"));
  }
}

TEST(PeersWithoutMemory, are_not_run_and_say_so) {
  sim::SimDevice device({.device = sim::find_device("h200").value(), .memory_bytes = 1 << 20});
  for (const AttentionResult& result : measured(device, small_sizes(), {})) {
    EXPECT_THAT(result.not_run, MatchesRegex("needs [0-9]+ bytes, 1048576 free"));
  }
  measure_products(device, {}, {own_products()}, [](const ProductResult& result) {
    EXPECT_THAT(result.not_run, MatchesRegex("needs [0-9]+ bytes, 1048576 free"));
  });
}

TEST(AttentionRates, are_of_keys_and_values_once_and_of_the_keys_that_rows_see) {
  const AttentionShape shape;
  const AttentionResult decode{.of = {.batch = 16, .context = 2048}, .us = 100};
  EXPECT_DOUBLE_EQ(to_json(shape, decode)["gb_per_s"].get<double>(), 16 * 2048 * 4096 / 100e3);
  const AttentionResult prefill{
      .of = {.phase = AttentionCase::Phase::prefill, .context = 8192, .rows = 512}, .us = 100};
  const double keys = 512.0 * 7680 + 512.0 * 513 / 2;
  EXPECT_DOUBLE_EQ(to_json(shape, prefill)["tflops"].get<double>(), 4 * keys * 4096 / 100e6);
}

// ---- Products -----------------------------------------------------------------------------------

/// Results of a first row that another number of rows changes from 17 rows on.
class ChangingProducts final : public ProductLevel {
 public:
  explicit ChangingProducts(const ProductOperands& operands) : operands_(operands) {}

  tl::expected<void, std::string> plan(int rows) override {
    if (rows > 64) return tl::unexpected(std::string("65 rows are too many"));
    rows_ = rows;
    return {};
  }
  tl::expected<void, std::string> multiply() override {
    std::fill_n(operands_.y, operands_.shape.outputs, 1.0F);
    if (rows_ > 16) operands_.y[3] = 2;
    return {};
  }
  tl::expected<double, std::string> time_us(int /*launches*/) override { return 1.0; }

 private:
  ProductOperands operands_;
  int rows_ = 0;
};

TEST_F(Peers, that_multiply_are_compared_by_the_bits_of_the_first_row) {
  const ProductSizes sizes{.shapes = {{"small", 64, 128}},
                           .rows = {1, 16, 20, 70},
                           .launches = 2,
                           .weight_bytes = std::uint64_t{1} << 15};
  const ProductMaker changing{
      "changes", [](gpu::Device&, const ProductOperands& operands) {
        EXPECT_EQ(operands.matrices, 2);
        return ProductMaker::Made(std::make_unique<ChangingProducts>(operands));
      }};
  std::vector<ProductResult> results;
  measure_products(device_, sizes, {own_products(), changing},
                   [&](const ProductResult& result) { results.push_back(result); });
  ASSERT_THAT(results, SizeIs(8));
  for (const ProductResult& result : results) {
    SCOPED_TRACE(to_text(result));
    const Json json = to_json(result);
    if (result.level == "ours") {
      EXPECT_TRUE(result.fewest.survived());
      EXPECT_EQ(json["bits_survive"], true);
      EXPECT_FALSE(json.contains("different_from_ours"));
    } else if (result.rows == 70) {
      EXPECT_EQ(json["not_run"], "65 rows are too many");
    } else {
      EXPECT_EQ(result.fewest.different, result.rows > 16 ? 1U : 0U);
      EXPECT_EQ(json["different_from_ours"], 64);
      EXPECT_THAT(to_text(result), HasSubstr("no: 64 of 64"));
    }
  }
}

}  // namespace
}  // namespace forge
