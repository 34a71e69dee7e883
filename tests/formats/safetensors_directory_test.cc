#include <gtest/gtest.h>

#include "forge/formats/safetensors.h"
#include "formats/safetensors_bytes.h"
#include "formats/scratch_folder.h"

namespace forge::formats {
namespace {

using testing::member;
using testing::safetensors_bytes;

constexpr const char* kIndex = "model.safetensors.index.json";

/// A file with one U8 tensor of each name, of one byte each.
std::string file_of(std::initializer_list<const char*> names, const std::string& metadata = "") {
  std::string header = "{";
  if (!metadata.empty()) header += "\"__metadata__\":{\"from\":\"" + metadata + "\"}";
  std::string data;
  for (const char* const name : names) {
    if (header.size() > 1) header += ',';
    const std::string begin = std::to_string(data.size());
    data += name[0];
    header += member(name, "U8", "[1]", "[" + begin + "," + std::to_string(data.size()) + "]");
  }
  return safetensors_bytes(header + "}", data);
}

class SafeTensorsDirectory : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) { folder_.write(name, bytes); }
  void write_index(const std::string& map) { write(kIndex, "{\"weight_map\":{" + map + "}}"); }

  /// "name:value" of each tensor, or the error with the directory left out.
  std::string outcome() {
    const auto checkpoint = SafeTensors::open_directory(folder_.path());
    if (!checkpoint) return to_string(checkpoint.error()).substr(folder_.path().size());
    std::string out;
    for (const Tensor& tensor : checkpoint->tensors()) {
      out += tensor.name + ":" + static_cast<char>(tensor.bytes[0]) + " ";
    }
    return out;
  }

  testing::ScratchFolder folder_;
};

TEST_F(SafeTensorsDirectory, one_file_needs_no_index) {
  write("model.safetensors", file_of({"a", "b"}));
  write(kIndex, "not even JSON");
  EXPECT_EQ(outcome(), "a:a b:b ");
}

TEST_F(SafeTensorsDirectory, several_files_are_read_by_the_index) {
  write("1", file_of({"c", "a"}));
  write("2", file_of({"d", "b"}, "second"));
  write("3", file_of({"e"}, "third"));
  write_index("\"a\":\"1\",\"b\":\"2\",\"c\":\"1\",\"d\":\"2\",\"e\":\"3\"");
  EXPECT_EQ(outcome(), "a:a b:b c:c d:d e:e ");
  const auto checkpoint = SafeTensors::open_directory(folder_.path()).value();
  EXPECT_EQ(checkpoint.metadata().at("from"), "second") << "of the first file that has some";
  EXPECT_EQ(checkpoint.file_of(*checkpoint.find("d")).path(), folder_.file("2"));
}

TEST_F(SafeTensorsDirectory, a_tensor_that_the_index_leaves_out_is_there) {
  write("1", file_of({"a", "b"}));
  write_index("\"b\":\"1\"");
  EXPECT_EQ(outcome(), "a:a b:b ");
}

TEST_F(SafeTensorsDirectory, files_may_be_links_as_in_the_hub_cache) {
  testing::ScratchFolder blobs;
  std::filesystem::create_symlink(blobs.write("0123abcd", file_of({"a"})), folder_.file("1"));
  write_index("\"a\":\"1\"");
  EXPECT_EQ(outcome(), "a:a ");
}

TEST_F(SafeTensorsDirectory, without_a_checkpoint_is_refused) {
  EXPECT_EQ(outcome(), ": has neither model.safetensors nor model.safetensors.index.json");
  const auto missing = SafeTensors::open_directory(folder_.file("missing"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(
      to_string(missing.error()),
      folder_.file("missing") + ": has neither model.safetensors nor model.safetensors.index.json");
}

TEST_F(SafeTensorsDirectory, an_index_that_is_wrong_about_its_files_is_refused) {
  write("1", file_of({"a"}));
  write("2", file_of({"b"}));
  write_index("\"a\":\"1\",\"b\":\"1\"");
  EXPECT_EQ(outcome(),
            "/model.safetensors.index.json: tensor 'b': is not in '1', where the index "
            "has it");
  write_index("\"a\":\"2\",\"b\":\"1\"");
  EXPECT_EQ(outcome(),
            "/model.safetensors.index.json: tensor 'a': is not in '2', where the index "
            "has it");
  write_index("\"a\":\"1\",\"b\":\"missing\"");
  EXPECT_EQ(outcome(), "/missing: cannot be opened: No such file or directory");
}

TEST_F(SafeTensorsDirectory, a_tensor_in_two_files_is_refused) {
  write("1", file_of({"a", "b"}));
  write("2", file_of({"b", "c"}));
  write_index("\"a\":\"1\",\"b\":\"2\"");
  EXPECT_EQ(outcome(), "/2: tensor 'b': is also in '1'");
}

TEST_F(SafeTensorsDirectory, the_error_of_a_file_names_the_file) {
  write("1", file_of({"a"}));
  write("2", file_of({"b"}) + "?");
  write_index("\"a\":\"1\",\"b\":\"2\"");
  EXPECT_EQ(outcome(), "/2: at byte 62: bytes 1 .. 1 of the data belong to no tensor");
}

}  // namespace
}  // namespace forge::formats
