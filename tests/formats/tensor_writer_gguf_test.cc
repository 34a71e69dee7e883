#include <gtest/gtest.h>

#include <array>

#include "forge/formats/gguf.h"
#include "forge/formats/tensor_writer.h"
#include "formats/safetensors_bytes.h"
#include "formats/scratch_folder.h"

namespace forge::formats {
namespace {

using testing::file_bytes;
using testing::ScratchFolder;
using testing::span_of;

std::string gguf_refusal(const tl::expected<TensorWriter, FileError>& writer,
                         const std::string& path) {
  return writer ? "made" : to_string(writer.error()).substr(path.size());
}

/// Zero-terminated pieces joined, with their zeros: the bytes of a file as a table.
template <std::size_t... sizes>
std::string joined(const char (&... pieces)[sizes]) {
  return (std::string(pieces, sizes - 1) + ...);
}

TEST(TensorWriterGguf, a_file_byte_by_byte) {
  const ScratchFolder folder;
  const std::vector<TensorSpec> specs = {{"w", ElementType::f16, {2, 3}},
                                         {"bias", ElementType::f32, {2}}};
  const GgufMetadata metadata = {{"general.alignment", std::uint32_t{32}},
                                 {"x", std::string_view("yes")}};
  auto writer = TensorWriter::gguf(folder.file("f"), specs, metadata).value();
  ASSERT_TRUE(writer.write(span_of("aAbBcCdDeEfF")));
  ASSERT_TRUE(writer.write(span_of("12345678")));
  ASSERT_TRUE(writer.finish());
  const std::string expected =
      joined("GGUF\3\0\0\0",  // version
             "\2\0\0\0\0\0\0\0"
             "\2\0\0\0\0\0\0\0",                             // tensors, keys
             "\x11\0\0\0\0\0\0\0general.alignment\4\0\0\0",  // 17 letters, u32
             "\x20\0\0\0",
             "\1\0\0\0\0\0\0\0x\x8\0\0\0"
             "\3\0\0\0\0\0\0\0yes",        // text
             "\1\0\0\0\0\0\0\0w\2\0\0\0",  // rank
             "\3\0\0\0\0\0\0\0"
             "\2\0\0\0\0\0\0\0",  // fastest first
             "\1\0\0\0"
             "\0\0\0\0\0\0\0\0",  // F16, offset
             "\4\0\0\0\0\0\0\0bias\1\0\0\0", "\2\0\0\0\0\0\0\0",
             "\0\0\0\0"
             "\x20\0\0\0\0\0\0\0");  // F32, offset
  const std::string file = file_bytes(folder.file("f"));
  EXPECT_EQ(file.substr(0, expected.size()), expected);
  const std::size_t data = (expected.size() + 31) / 32 * 32;
  EXPECT_EQ(file.substr(expected.size(), data - expected.size()),
            std::string(data - expected.size(), '\0'));
  EXPECT_EQ(file.substr(data),
            "aAbBcCdDeEfF" + std::string(20, '\0') + "12345678" + std::string(24, '\0'));
}

TEST(TensorWriterGguf, metadata_of_every_type_come_back) {
  const ScratchFolder folder;
  const std::array<float, 3> floats = {0.5F, -1.0F, 1e-30F};
  const std::array<std::int32_t, 2> integers = {-7, 2147483647};
  const GgufMetadata metadata = {
      {"u8", std::uint8_t{255}},
      {"i8", std::int8_t{-128}},
      {"u16", std::uint16_t{65535}},
      {"i16", std::int16_t{-32768}},
      {"u32", std::uint32_t{4294967295}},
      {"i32", std::int32_t{-2147483647 - 1}},
      {"f32", 0.1F},
      {"yes", true},
      {"no", false},
      {"text", std::string_view("a\0b", 3)},
      {"u64", ~std::uint64_t{0}},
      {"i64", std::int64_t{-1} << 63},
      {"f64", 0.1},
      {"floats", GgufArray(GgufNumbers(GgufType::f32, std::as_bytes(std::span(floats))))},
      {"integers", GgufArray(GgufNumbers(GgufType::i32, std::as_bytes(std::span(integers))))},
      {"nothing", GgufArray(GgufNumbers(GgufType::u8, {}))},
      {"texts", GgufArray(GgufTexts{"", "one", "two"})}};
  auto writer = TensorWriter::gguf(folder.file("f"), {}, metadata).value();
  ASSERT_TRUE(writer.finish());
  const auto file = Gguf::open(folder.file("f"));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->version(), 3u);
  ASSERT_EQ(file->metadata().size(), metadata.size());
  for (const auto& [key, value] : metadata) {
    EXPECT_EQ(to_string(file->metadata().at(key)), to_string(value)) << key;
  }
  const GgufNumbers read = file->numbers("floats").value();
  for (std::size_t i = 0; i < floats.size(); ++i) {
    EXPECT_EQ(read.number(i), static_cast<double>(floats[i]));
  }
  EXPECT_EQ(file->integers("integers").value().integer(0), -7);
  EXPECT_EQ(file->texts("texts").value()[2], "two");
  EXPECT_EQ(file->text("text").value(), std::string_view("a\0b", 3));
}

TEST(TensorWriterGguf, tensors_of_every_type_come_back) {
  const ScratchFolder folder;
  std::vector<TensorSpec> specs;
  std::vector<std::string> data;
  for (const quant::WeightType type : quant::kWeightTypes) {
    specs.push_back({std::string(quant::name_of(type)), element_type(type), {3, 256}});
  }
  specs.push_back({"I32", ElementType::i32, {1, 2, 3, 4}});
  specs.push_back({"I64", ElementType::i64, {}});
  auto writer = TensorWriter::gguf(folder.file("f"), specs, {}).value();
  for (const TensorSpec& spec : specs) {
    data.emplace_back(*bytes_of(spec.type, spec.shape), static_cast<char>('a' + data.size()));
    ASSERT_TRUE(writer.write(span_of(data.back())));
  }
  ASSERT_TRUE(writer.finish());
  const auto file = Gguf::open(folder.file("f"));
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_EQ(file->tensors().size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Tensor& tensor = file->tensors()[i];
    EXPECT_EQ(tensor.name, specs[i].name);
    EXPECT_EQ(tensor.type, specs[i].type);
    EXPECT_EQ(tensor.shape, specs[i].shape);
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, span_of(data[i]))) << tensor.name;
    EXPECT_EQ(tensor.offset % 32, 0u);
  }
}

TEST(TensorWriterGguf, tensors_that_gguf_does_not_have_are_refused) {
  const ScratchFolder folder;
  const auto outcome = [&](const TensorSpec& spec) {
    return gguf_refusal(TensorWriter::gguf(folder.file("f"), {&spec, 1}, {}), folder.file("f"));
  };
  EXPECT_EQ(outcome({"a", ElementType::u8, {1}}),
            ": tensor 'a': GGUF has no type U8; accepted are F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, "
            "Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, I8, I32, I64, BF16, MXFP4");
  EXPECT_EQ(outcome({"a", ElementType::q4_k, {256, 32}}),
            ": tensor 'a': Q4_K[256, 32] has rows of 32 numbers; accepted are multiples of 256");
  EXPECT_EQ(outcome({"a", ElementType::q8_0, {}}),
            ": tensor 'a': Q8_0[] has rows of 1 numbers; accepted are multiples of 32");
  EXPECT_EQ(outcome({"a", ElementType::f32, {1, 1, 1, 1, 1}}),
            ": tensor 'a': has 5 dimensions; accepted are 0 .. 4");
  EXPECT_EQ(outcome({"a", ElementType::f32, {3, 0}}),
            ": tensor 'a': F32[3, 0] has a dimension of 0; accepted are 1 and more");
  EXPECT_EQ(outcome({"", ElementType::f32, {1}}), ": the name has 0 bytes; accepted are 1 .. 63");
  const std::string name(64, 'n');
  EXPECT_EQ(outcome({name, ElementType::f32, {1}}),
            ": tensor '" + name + "': the name has 64 bytes; accepted are 1 .. 63");
  const std::vector<TensorSpec> twice(2, {"a", ElementType::f32, {1}});
  EXPECT_EQ(gguf_refusal(TensorWriter::gguf(folder.file("f"), twice, {}), folder.file("f")),
            ": tensor 'a': the name is there twice");
}

TEST(TensorWriterGguf, metadata_that_contradict_the_file_are_refused) {
  const ScratchFolder folder;
  const auto outcome = [&](const GgufMetadata& metadata) {
    return gguf_refusal(TensorWriter::gguf(folder.file("f"), {}, metadata), folder.file("f"));
  };
  EXPECT_EQ(outcome({{"general.alignment", std::uint32_t{64}}}),
            ": general.alignment is u32 64; accepted is u32 32");
  EXPECT_EQ(outcome({{"general.alignment", std::uint64_t{32}}}),
            ": general.alignment is u64 32; accepted is u32 32");
  EXPECT_EQ(outcome({{"", true}}), ": a key has 0 bytes; accepted are 1 .. 65535");
  EXPECT_EQ(outcome({{std::string(65536, 'k'), true}}),
            ": a key has 65536 bytes; accepted are 1 .. 65535");
}

}  // namespace
}  // namespace forge::formats
