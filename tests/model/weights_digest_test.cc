#include "forge/model/weights_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_edit.h"
#include "forge/model/packed_model.h"
#include "forge/model/weight_roles.h"
#include "model/stored_weights.h"
#include "model/told_reader.h"
#include "model/transformer_runner.h"
#include "numerics/test_values.h"

namespace forge::model {
namespace {

using linear::StoredLinear;
using linear::StoredRows;
using quant::WeightType;

std::string digest_text(const StoredModel& model, int threads = 2) {
  linear::ThreadPool pool(threads);
  return to_string(digest_of(model, pool));
}

std::string digest_of_path(const std::string& path) {
  return digest_text(testing::opened(path).model());
}

/// An embedding that is all of a model, in the bytes of `memory`.
StoredModel embedding_alone(int outputs, int inputs, WeightType type,
                            const std::vector<std::byte>& memory) {
  StoredModel model;
  model.embedding = {outputs, inputs, StoredRows{type, memory.data()}};
  return model;
}

/// The bytes of `pieces` in weights_digests.py: more than two pieces of a tensor.
std::vector<std::byte> bytes_in_pieces() {
  std::vector<std::byte> bytes(150 * 1000 * 4);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 12)) & 255);
  }
  return bytes;
}

TEST(WeightsDigest, is_that_of_an_independent_implementation) {
  std::ifstream file(FORGE_GOLDEN_MODELS "/weights_digests.txt");
  std::string name, digest;
  int count = 0;
  while (file >> name >> digest) {
    ++count;
    if (name == "pieces") {
      const auto bytes = bytes_in_pieces();
      EXPECT_EQ(digest_text(embedding_alone(150, 1000, WeightType::f32, bytes)), digest);
      continue;
    }
    SCOPED_TRACE(name);
    const testing::LoadedModel model(FORGE_GOLDEN_MODELS "/" + name);
    EXPECT_EQ(digest_text(model.stored()), digest);
    EXPECT_EQ(to_string(model.transformer().weights().digest), digest) << "taken while packing";
  }
  EXPECT_EQ(count, 32);
}

TEST(WeightsDigest, does_not_depend_on_the_number_of_threads) {
  testing::StoredWeights weights;
  for (const ModelConfig& config :
       {testing::wide_llama(), testing::wide_experts(), testing::wide_latent()}) {
    const StoredModel stored = weights.random(config, WeightType::f32);
    const std::string expected = digest_text(stored, 1);
    for (const int threads : {2, 5}) {
      linear::ThreadPool pool(threads);
      EXPECT_EQ(digest_text(stored, threads), expected);
      EXPECT_EQ(to_string(pack(config, stored, pool).value().digest), expected);
    }
  }
}

TEST(WeightsDigest, is_that_of_the_weights_wherever_the_files_have_them) {
  const std::string llama = digest_of_path(testing::golden("llama"));
  EXPECT_EQ(digest_of_path(testing::golden("llama_sharded")), llama) << "in four files";
  const formats::testing::ScratchFolder folder;
  auto edited = testing::EditableCheckpoint::of("llama");
  edited.tensors["another.weight"] = testing::floats({3}, {1, 2, 3});  // in no role, at the front
  edited.write(folder);
  EXPECT_EQ(digest_of_path(folder.path()), llama) << "at other offsets";
  EXPECT_EQ(digest_of_path(testing::golden("qwen2/model.gguf")),
            digest_of_path(testing::golden("qwen2")));
  EXPECT_NE(digest_of_path(testing::golden("llama_bf16")), llama) << "equal numbers, another type";
}

/// Weights of all roles, and what a change of one of them makes of the digest.
TEST(WeightsDigest, differs_when_any_weight_changes_in_one_bit) {
  for (const char* name : {"qwen2", "qwen3_moe", "deepseek_v3"}) {
    auto checkpoint = testing::EditableCheckpoint::of(name);
    const formats::testing::ScratchFolder folder;
    checkpoint.write(folder);
    std::set<std::string> digests = {digest_of_path(folder.path())};
    for (auto& [tensor, values] : checkpoint.tensors) {
      char& byte = values.bytes[values.bytes.size() / 2];
      byte = static_cast<char>(byte ^ 1);
      checkpoint.write(folder);
      EXPECT_TRUE(digests.insert(digest_of_path(folder.path())).second) << tensor;
      byte = static_cast<char>(byte ^ 1);
    }
  }
}

TEST(WeightsDigest, differs_by_role_shape_type_and_the_place_of_every_bit) {
  std::vector<std::byte> bytes = bytes_in_pieces();
  std::set<std::string> digests;
  const auto expect_new = [&](const StoredModel& model, const char* what) {
    EXPECT_TRUE(digests.insert(digest_text(model)).second) << what;
  };
  expect_new(embedding_alone(150, 1000, WeightType::f32, bytes), "the first");
  expect_new(embedding_alone(1000, 150, WeightType::f32, bytes), "shape");
  expect_new(embedding_alone(300, 1000, WeightType::bf16, bytes), "type and shape");
  expect_new(embedding_alone(300, 1000, WeightType::f16, bytes), "type");

  StoredModel head;
  head.head = embedding_alone(150, 1000, WeightType::f32, bytes).embedding;
  expect_new(head, "role");
  StoredModel both = embedding_alone(150, 1000, WeightType::f32, bytes);
  both.head = both.embedding;
  expect_new(both, "another tensor");

  for (std::size_t place = 0; place < bytes.size(); place += 60'007) {
    bytes[place] ^= std::byte{0x10};
    expect_new(embedding_alone(150, 1000, WeightType::f32, bytes), "a bit");
    bytes[place] ^= std::byte{0x10};
  }
  const auto second = bytes.begin() + WeightsDigester::kPieceBytes;
  std::swap_ranges(bytes.begin(), second, second);
  expect_new(embedding_alone(150, 1000, WeightType::f32, bytes), "pieces in another order");
}

/// Words of the list, without hashes.
std::vector<std::string> tensors_listed(const StoredModel& model) {
  linear::ThreadPool pool(1);
  const std::string list = digest_list(model, pool);
  std::vector<std::string> tensors;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = list.find('\n', begin);
    tensors.push_back(list.substr(begin, end - begin - 33));
    begin = end + 1;
  }
  return tensors;
}

TEST(WeightsDigest, lists_each_array_of_a_matrix_in_its_form) {
  const std::vector<std::byte> memory(64 * 32 * 4);
  const std::vector<float> scales(32, 1.0F);
  const std::vector<std::int32_t> order(64, 0);
  const std::byte* const bytes = memory.data();
  StoredModel model;
  model.embedding = {32, 64, StoredRows{WeightType::q8_0, bytes}};
  StoredGroupedQuery attention;
  attention.query = {32, 64, linear::StoredInt8{bytes, scales}};
  using Packing = linear::StoredGroups::Packing;
  attention.key = {32, 64, linear::StoredGroups{Packing::gptq, 32, bytes, bytes, bytes, order}};
  attention.value = {32, 64, linear::StoredGroups{Packing::awq, 32, bytes, bytes, bytes, {}}};
  attention.output_bias.resize(3);
  model.layers.push_back({{}, attention, {1.0F}, StoredMlp{}});
  EXPECT_EQ(
      tensors_listed(model),
      (std::vector<std::string>{
          "embedding Q8_0 32x64", "layers.0.attention.query.codes I8 32x64",
          "layers.0.attention.query.scales F32 32", "layers.0.attention.key.codes I32 8x32",
          "layers.0.attention.key.zeros I32 2x4", "layers.0.attention.key.scales F16 2x32",
          "layers.0.attention.key.order I32 64", "layers.0.attention.value.codes I32 64x4",
          "layers.0.attention.value.zeros I32 2x4", "layers.0.attention.value.scales F16 2x32",
          "layers.0.attention.output_bias F32 3", "layers.0.ffn_norm F32 1"}));
}

TEST(WeightsDigest, visits_every_matrix_once) {
  for (const ModelConfig& config : {testing::wide_experts(), testing::wide_latent()}) {
    testing::StoredWeights weights;
    StoredModel stored = weights.random(config, WeightType::f16);
    std::set<const StoredLinear*> visited;
    for_each_weight(
        stored,
        [&](const std::string& role, const StoredLinear& matrix) {
          EXPECT_TRUE(visited.insert(&matrix).second) << role;
        },
        [](const std::string&, const std::vector<float>&) {});
    std::set<const StoredLinear*> packed;
    linear::ThreadPool pool(1);
    testing::ToldReader reader([&](const StoredLinear& matrix) { packed.insert(&matrix); });
    ASSERT_TRUE(pack(config, stored, pool, {.reader = &reader}));
    EXPECT_EQ(visited, packed);
  }
}

TEST(WeightsDigestDeathTest, is_of_matrices_that_were_read) {
  const std::vector<std::byte> memory(64);
  linear::ThreadPool pool(1);
  const linear::MemoryReader reader;
  EXPECT_DEATH(WeightsDigester(reader, pool).digest(embedding_alone(4, 4, WeightType::f32, memory)),
               "'embedding' has not been read");
}

TEST(WeightsDigest, is_written_in_32_digits) {
  EXPECT_EQ(to_string({.high = 0x123, .low = 0xfedcba9876543210}),
            "0000000000000123fedcba9876543210");
}

}  // namespace
}  // namespace forge::model
