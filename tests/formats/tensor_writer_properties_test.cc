// Whatever is written is read back, byte for byte, in both formats.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "forge/formats/gguf.h"
#include "forge/formats/safetensors.h"
#include "forge/formats/tensor_writer.h"
#include "formats/safetensors_bytes.h"
#include "formats/scratch_folder.h"

namespace forge::formats {
namespace {

using testing::span_of;

struct Written {
  std::vector<TensorSpec> specs;
  std::vector<std::string> data;
};

/// Tensors of the types given with different names; `least` is the least dimension.
Written any_tensors(const std::vector<ElementType>& types, std::uint64_t least,
                    const rc::Gen<std::string>& any_name) {
  Written written;
  for (const std::string& name : *rc::gen::container<std::set<std::string>>(any_name)) {
    TensorSpec spec = {name, *rc::gen::elementOf(types), {}};
    spec.shape.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (std::uint64_t& dimension : spec.shape) dimension = *rc::gen::inRange(least, least + 4);
    const auto weights = weight_type(spec.type);
    const std::size_t block = weights ? quant::block_elements(*weights) : 1;
    if (block > 1 && spec.shape.empty()) spec.shape.push_back(1);
    if (block > 1) spec.shape.back() *= block;
    std::string bytes(bytes_of(spec.type, spec.shape).value(), '\0');
    const auto start = *rc::gen::arbitrary<std::uint32_t>();
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(start + i * 7);
    written.specs.push_back(std::move(spec));
    written.data.push_back(std::move(bytes));
  }
  return written;
}

/// In pieces, whose sizes are drawn as well.
void write_all(TensorWriter& writer, const Written& written) {
  for (const std::string& bytes : written.data) {
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = *rc::gen::inRange<std::size_t>(1, bytes.size() - at + 1);
      RC_ASSERT(writer.write(span_of(bytes).subspan(at, size)).has_value());
      at += size;
    }
  }
  RC_ASSERT(writer.finish().has_value());
}

template <class File>
void expect_same(const File& file, const Written& written) {
  RC_ASSERT(file.tensors().size() == written.specs.size());
  for (std::size_t i = 0; i < written.specs.size(); ++i) {
    const TensorSpec& spec = written.specs[i];
    const Tensor* const tensor = file.find(spec.name);
    RC_ASSERT(tensor != nullptr);
    RC_ASSERT(tensor->type == spec.type);
    RC_ASSERT(tensor->shape == spec.shape);
    RC_ASSERT(std::ranges::equal(tensor->bytes, span_of(written.data[i])));
  }
}

/// Texts of letters that JSON has to escape, of one to four bytes of UTF-8.
rc::Gen<std::string> utf8_text() {
  const std::vector<std::string> letters = {
      "a",      "B",      ".",         "\"", "\\", "/", "\n", "\x1f", "\x7f", std::string(1, '\0'),
      "\u00e9", "\u4e2d", "\U0001f525"};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(letters)),
                      [](const std::vector<std::string>& parts) {
                        std::string text;
                        for (const std::string& part : parts) text += part;
                        return text;
                      });
}

RC_GTEST_PROP(TensorWriterProperties, safetensors_are_read_as_they_were_written, ()) {
  const Written written =
      any_tensors({ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i8,
                   ElementType::u8, ElementType::i32, ElementType::i64},
                  0, utf8_text());
  const auto metadata =
      *rc::gen::container<std::map<std::string, std::string>>(utf8_text(), utf8_text());
  const testing::ScratchFolder folder;
  auto writer = TensorWriter::safetensors(folder.file("f"), written.specs, metadata);
  RC_ASSERT(writer.has_value());
  write_all(*writer, written);
  const auto file = SafeTensors::open(folder.file("f"));
  RC_ASSERT(file.has_value());
  expect_same(*file, written);
  RC_ASSERT(file->metadata() == metadata);
}

RC_GTEST_PROP(TensorWriterProperties, gguf_is_read_as_it_was_written, ()) {
  const auto any_name =
      rc::gen::suchThat(rc::gen::string<std::string>(), [](const std::string& name) {
        return !name.empty() && name.size() <= TensorWriter::kGgufNameBytesMax;
      });
  const Written written =
      any_tensors({ElementType::f32, ElementType::bf16, ElementType::i8, ElementType::q8_0,
                   ElementType::q4_0, ElementType::q5_0, ElementType::q5_1, ElementType::q4_k,
                   ElementType::q6_k, ElementType::i32},
                  1, any_name);
  const auto integer = *rc::gen::arbitrary<std::int64_t>();
  const auto text = *rc::gen::arbitrary<std::string>();
  const GgufMetadata metadata = {{"integer", integer}, {"text", std::string_view(text)}};
  const testing::ScratchFolder folder;
  auto writer = TensorWriter::gguf(folder.file("f"), written.specs, metadata);
  RC_ASSERT(writer.has_value());
  write_all(*writer, written);
  const auto file = Gguf::open(folder.file("f"));
  RC_ASSERT(file.has_value());
  expect_same(*file, written);
  RC_ASSERT(file->integer("integer").value() == integer);
  RC_ASSERT(file->text("text").value() == text);
}

}  // namespace
}  // namespace forge::formats
