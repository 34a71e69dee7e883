// Files that the package `safetensors` of Hugging Face wrote, against what it reads in them
// (tests/golden/safetensors/make_fixtures.py), and trained models.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "forge/formats/safetensors.h"
#include "formats/scratch_folder.h"
#include "trained_checkpoints.h"

namespace forge::formats {
namespace {

std::string golden_file(const std::string& name) {
  return std::string(FORGE_GOLDEN_SAFETENSORS) + "/" + name;
}

/// Of text that has no characters beyond Latin-1, as Python's json has it.
std::string json_of(const std::string& text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      out += "\\n";
    } else if (c < 0x80) {
      if (c == '"' || c == '\\') out += '\\';
      out += text[i];
    } else {  // two bytes of UTF-8
      const auto next = static_cast<unsigned char>(text[++i]);
      std::array<char, 7> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", (c & 0x1fu) << 6 | (next & 0x3fu));
      out += escape.data();
    }
  }
  return out + "\"";
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte byte : bytes) {
    std::array<char, 3> digits;
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(byte));
    out += digits.data();
  }
  return out;
}

/// As the listings of make_fixtures.py.
std::string listing(const SafeTensors& checkpoint) {
  std::string out;
  for (const Tensor& tensor : checkpoint.tensors()) {
    const std::string hex = hex_of(tensor.bytes);
    out += json_of(tensor.name) + " " + to_string(tensor) + (hex.empty() ? "" : " ") + hex + "\n";
  }
  for (const auto& [key, value] : checkpoint.metadata()) {
    out += json_of(key) + " = " + json_of(value) + "\n";
  }
  return out;
}

TEST(SafeTensorsFixtures, a_file_is_what_its_writer_reads_in_it) {
  const auto file = SafeTensors::open(golden_file("types.safetensors"));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(listing(*file), testing::file_bytes(golden_file("types.txt")));
}

TEST(SafeTensorsFixtures, a_checkpoint_in_several_files_is_one) {
  const auto checkpoint = SafeTensors::open_directory(golden_file("sharded"));
  ASSERT_TRUE(checkpoint) << to_string(checkpoint.error());
  EXPECT_EQ(listing(*checkpoint), testing::file_bytes(golden_file("sharded.txt")));
}

TEST(SafeTensorsFixtures, bytes_are_where_the_offset_says) {
  const auto checkpoint = SafeTensors::open_directory(golden_file("sharded")).value();
  for (const Tensor& tensor : checkpoint.tensors()) {
    const MappedFile& file = checkpoint.file_of(tensor);
    EXPECT_EQ(tensor.bytes.data(), file.bytes().data() + tensor.offset) << tensor.name;
    const bool is_in_second = tensor.name == "lm_head.weight";
    EXPECT_TRUE(file.path().ends_with(is_in_second ? "/model-00002-of-00002.safetensors"
                                                   : "/model-00001-of-00002.safetensors"));
  }
}

TEST(SafeTensorsFixtures, tensors_are_found_by_name) {
  const auto file = SafeTensors::open(golden_file("types.safetensors")).value();
  for (const Tensor& tensor : file.tensors()) EXPECT_EQ(file.find(tensor.name), &tensor);
  for (const char* const name : {"", "a", "f32 ", "f3", "zzz"}) {
    EXPECT_EQ(file.find(name), nullptr) << name;
  }
}

TEST(SafeTensorsFixtures, a_checkpoint_may_move) {
  auto file = SafeTensors::open(golden_file("types.safetensors")).value();
  const std::byte* const bytes = file.find("f32")->bytes.data();
  const SafeTensors moved(std::move(file));
  EXPECT_EQ(moved.find("f32")->bytes.data(), bytes);
  EXPECT_EQ(&moved.file_of(*moved.find("f32")), &moved.file_of(*moved.find("u8")));
  EXPECT_EQ(hex_of(moved.find("scalar")->bytes), "00002842");
}

TEST(SafeTensorsFixturesDeathTest, a_tensor_of_another_file_is_a_programmers_error) {
  const auto file = SafeTensors::open(golden_file("types.safetensors")).value();
  const Tensor copy = *file.find("f32");
  EXPECT_DEATH(file.file_of(copy), "'f32' is of another checkpoint");
}

using TrainedSafeTensors = forge::testing::TrainedCheckpointTest;

TEST_P(TrainedSafeTensors, have_the_weights_of_their_configuration) {
  const auto& size = GetParam();
  const auto model = SafeTensors::open_directory(size.folder);
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->tensors().size(), 2 + 9 * size.layers);
  const Tensor* const embedding = model->find("model.embed_tokens.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(to_string(*embedding), size.is_extra ? "F32[512, 64]" : "F32[416, 32]");
  std::uint64_t elements = 0;
  for (const Tensor& tensor : model->tensors()) {
    EXPECT_EQ(tensor.type, ElementType::f32) << tensor.name;
    elements += tensor.elements();
    for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
      float weight = 0;
      std::memcpy(&weight, tensor.bytes.data() + i, sizeof weight);
      ASSERT_LT(std::abs(weight), 100.0F) << tensor.name << " at " << i;
    }
  }
  const std::uint64_t width = size.width;
  const std::uint64_t kv_width = std::uint64_t{size.kv_heads} * 8;
  // Q and O, K and V, three matrices of the MLP, two norms.
  const std::uint64_t layer =
      2 * width * width + 2 * kv_width * width + 3 * size.mlp * width + 2 * width;
  EXPECT_EQ(elements, size.vocabulary * width + size.layers * layer + width);
}

INSTANTIATE_TEST_SUITE_P(Of, TrainedSafeTensors, forge::testing::both_trained_checkpoints(),
                         forge::testing::label_of);

}  // namespace
}  // namespace forge::formats
