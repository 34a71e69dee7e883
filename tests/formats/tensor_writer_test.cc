#include "forge/formats/tensor_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "forge/formats/safetensors.h"
#include "formats/safetensors_bytes.h"
#include "formats/scratch_folder.h"

namespace forge::formats {
namespace {

using testing::file_bytes;
using testing::ScratchFolder;
using testing::span_of;

const std::vector<TensorSpec> kSpecs = {
    {"b", ElementType::f32, {2}}, {"none", ElementType::f32, {0, 3}}, {"a", ElementType::u8, {3}}};

std::string header_of(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return file.substr(8, length);
}

/// The error of a writer that could not be made, with `path` left out.
std::string refusal(const tl::expected<TensorWriter, FileError>& writer, const std::string& path) {
  return writer ? "made" : to_string(writer.error()).substr(path.size());
}

TEST(TensorWriter, writes_header_and_data_in_the_order_given) {
  const ScratchFolder folder;
  auto writer = TensorWriter::safetensors(folder.file("f"), kSpecs, {{"format", "pt"}}).value();
  ASSERT_TRUE(writer.write(span_of("12345678")));
  ASSERT_TRUE(writer.write(span_of("abc")));
  ASSERT_TRUE(writer.finish());
  const std::string file = file_bytes(folder.file("f"));
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
      "\"none\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[8,8]},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]}}";
  EXPECT_EQ(header_of(file).substr(0, header.size()), header);
  EXPECT_EQ(header_of(file).find_first_not_of(' ', header.size()), std::string::npos);
  EXPECT_EQ((8 + header_of(file).size()) % 64, 0u);
  EXPECT_EQ(file.substr(8 + header_of(file).size()), "12345678abc");
}

TEST(TensorWriter, a_file_may_have_no_tensors) {
  const ScratchFolder folder;
  auto writer = TensorWriter::safetensors(folder.file("f"), {}, {}).value();
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(header_of(file_bytes(folder.file("f"))), "{}" + std::string(54, ' '));
  EXPECT_TRUE(SafeTensors::open(folder.file("f")).value().tensors().empty());
}

TEST(TensorWriter, data_come_in_pieces_of_any_size) {
  const ScratchFolder folder;
  std::string data(3 << 20, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 2654435761u >> 24);
  const std::vector<TensorSpec> specs = {{"a", ElementType::u8, {data.size()}}};
  auto writer = TensorWriter::safetensors(folder.file("f"), specs, {}).value();
  std::size_t at = 0;
  for (const std::size_t size : {0UL, 1UL, 1UL << 20, 5UL, (1UL << 20) + 1, 0UL, 70000UL}) {
    ASSERT_TRUE(writer.write(span_of(data).subspan(at, size)));
    at += size;
  }
  ASSERT_TRUE(writer.write(span_of(data).subspan(at)));
  ASSERT_TRUE(writer.finish());
  const auto file = SafeTensors::open(folder.file("f")).value();
  EXPECT_TRUE(std::ranges::equal(file.find("a")->bytes, span_of(data)));
}

TEST(TensorWriter, the_file_has_its_name_only_when_it_is_whole) {
  const ScratchFolder folder;
  const std::string path = folder.write("f", "what was there before");
  {
    auto writer = TensorWriter::safetensors(path, kSpecs, {}).value();
    ASSERT_TRUE(writer.write(span_of("12345678")));
    EXPECT_TRUE(std::filesystem::exists(path + ".part"));
    EXPECT_EQ(file_bytes(path), "what was there before");
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".part")) << "removed with its writer";
  EXPECT_EQ(file_bytes(path), "what was there before");

  auto writer = TensorWriter::safetensors(path, kSpecs, {}).value();
  ASSERT_TRUE(writer.write(span_of("12345678")));
  ASSERT_TRUE(writer.write(span_of("abc")));
  TensorWriter moved = std::move(writer);
  ASSERT_TRUE(moved.finish());
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  EXPECT_EQ(SafeTensors::open(path).value().tensors().size(), 3u);
}

TEST(TensorWriter, what_cannot_be_created_is_an_error) {
  const ScratchFolder folder;
  const std::string path = folder.file("missing/f");
  EXPECT_EQ(refusal(TensorWriter::safetensors(path, kSpecs, {}), path),
            ".part: cannot be created: No such file or directory");
}

TEST(TensorWriter, a_name_that_is_a_folder_is_an_error_and_nothing_stays_behind) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.file("f/inside"));
  {
    auto writer = TensorWriter::safetensors(folder.file("f"), {}, {}).value();
    const auto finished = writer.finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(to_string(finished.error()), folder.file("f.part") + ": cannot be renamed to '" +
                                               folder.file("f") + "': Is a directory");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("f.part")));
}

TEST(TensorWriter, a_full_disk_is_an_error_of_every_later_call) {
  const ScratchFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.file("f.part"));
  const std::string full = folder.file("f.part") + ": cannot be written: No space left on device";
  const std::string data(2 << 20, 'd');
  const std::vector<TensorSpec> specs = {{"a", ElementType::u8, {data.size()}}};
  {
    auto writer = TensorWriter::safetensors(folder.file("f"), specs, {}).value();
    for (int i = 0; i < 2; ++i) {
      const auto written = writer.write(span_of(data));
      ASSERT_FALSE(written);
      EXPECT_EQ(to_string(written.error()), full);
    }
    const auto finished = writer.finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(to_string(finished.error()), full);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("f")));
  EXPECT_FALSE(std::filesystem::is_symlink(folder.file("f.part")));
}

TEST(TensorWriter, a_disk_that_is_full_at_the_end_is_an_error_too) {
  const ScratchFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.file("f.part"));
  auto writer = TensorWriter::safetensors(folder.file("f"), {}, {}).value();
  const auto finished = writer.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message, "cannot be written: No space left on device");
}

/// Files of this process are at most so long, as on a disk that fills up in the middle of a write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(TensorWriter, a_write_of_which_only_a_part_fits_is_an_error) {
  const ScratchFolder folder;
  const std::string data(3 << 20, 'd');
  const std::vector<TensorSpec> specs = {{"a", ElementType::u8, {data.size()}}};
  {
    const FileSizeLimit limit(2 << 20);
    auto writer = TensorWriter::safetensors(folder.file("f"), specs, {}).value();
    const auto written = writer.write(span_of(data));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message, "cannot be written: File too large");
    EXPECT_EQ(std::filesystem::file_size(folder.file("f.part")), 2u << 20);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TensorWriter, tensors_that_safetensors_does_not_have_are_refused) {
  const ScratchFolder folder;
  const auto outcome = [&](std::vector<TensorSpec> specs) {
    return refusal(TensorWriter::safetensors(folder.file("f"), specs, {}), folder.file("f"));
  };
  EXPECT_EQ(outcome({{"a", ElementType::u8, {1}}, {"a", ElementType::f32, {2}}}),
            ": tensor 'a': the name is there twice");
  EXPECT_EQ(outcome({{"a", ElementType::q4_k, {256}}}),
            ": tensor 'a': SafeTensors has no type Q4_K; accepted are F32, F16, BF16, I8, U8, I32, "
            "I64, F8_E4M3");
  EXPECT_EQ(outcome({{"__metadata__", ElementType::f32, {1}}}),
            ": tensor '__metadata__': the name is kept for the metadata");
  EXPECT_EQ(outcome({{"\xff", ElementType::f32, {1}}}), ": tensor '\\xff': the name is not UTF-8");
  EXPECT_EQ(outcome({{"a", ElementType::f32, std::vector<std::uint64_t>(65, 1)}}),
            ": tensor 'a': has 65 dimensions; accepted are 0 .. 64");
  EXPECT_EQ(outcome({{"a", ElementType::f32, {1ULL << 61}}}),
            ": tensor 'a': F32[2305843009213693952] takes the file beyond 9223372036854775807 "
            "bytes");
  EXPECT_EQ(outcome({{"a", ElementType::u8, {1ULL << 62}}, {"b", ElementType::u8, {1ULL << 62}}}),
            ": tensor 'b': U8[4611686018427387904] takes the file beyond 9223372036854775807 "
            "bytes");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is created before";
}

TEST(TensorWriter, metadata_that_is_no_text_is_refused) {
  const ScratchFolder folder;
  const auto outcome = [&](const std::map<std::string, std::string>& metadata) {
    return refusal(TensorWriter::safetensors(folder.file("f"), {}, metadata), folder.file("f"));
  };
  EXPECT_EQ(outcome({{"\xc3", "v"}}), ": __metadata__ '\\xc3' is not UTF-8");
  EXPECT_EQ(outcome({{"k", "\xed\xa0\x80"}}), ": __metadata__ 'k' is not UTF-8");
  // Each of these characters takes six in JSON.
  EXPECT_EQ(outcome({{"k", std::string(17'000'000, '\x01')}}),
            ": the header would have 102000056 bytes; accepted are up to 100000000");
}

TEST(TensorWriterDeathTest, more_or_less_than_announced_is_a_programmers_error) {
  const ScratchFolder folder;
  auto writer = TensorWriter::safetensors(folder.file("f"), kSpecs, {}).value();
  EXPECT_DEATH(static_cast<void>(writer.write(span_of("123456789"))),
               "9 bytes for tensor 0, which lacks 8");
  ASSERT_TRUE(writer.write(span_of("12345678")));
  EXPECT_DEATH(static_cast<void>(writer.finish()), "tensor 2 of 3 is not complete");
  ASSERT_TRUE(writer.write(span_of("abc")));
  EXPECT_DEATH(static_cast<void>(writer.write(span_of("d"))), "1 bytes after the last tensor");
}

}  // namespace
}  // namespace forge::formats
