#include <gtest/gtest.h>

#include "forge/formats/safetensors.h"
#include "formats/safetensors_bytes.h"

namespace forge::formats {
namespace {

using testing::span_of;

/// The files of an index, "name=file" each, or the error.
std::string index_outcome(const std::string& text) {
  const auto index = parse_safetensors_index(span_of(text), "f");
  if (!index) return to_string(index.error());
  std::string out;
  for (const auto& [name, file] : *index) out += (out.empty() ? "" : " ") + name + "=" + file;
  return out;
}

std::string outcome_of_map(const std::string& map) {
  return index_outcome("{\"weight_map\":" + map + "}");
}

TEST(SafeTensorsIndex, gives_a_file_for_each_tensor) {
  EXPECT_EQ(outcome_of_map("{\"b\":\"2.safetensors\",\"a\":\"1.safetensors\"}"),
            "a=1.safetensors b=2.safetensors");
}

TEST(SafeTensorsIndex, may_say_more) {
  EXPECT_EQ(
      index_outcome("{\"metadata\":{\"total_size\":1.5e9,\"weight_map\":[{\"x\":[null]}]},"
                    "\"weight_map\":{\"a\":\"f\"},\"other\":[true,{\"weight_map\":{\"b\":3}}]}"),
      "a=f")
      << "only the outermost weight_map is one";
}

TEST(SafeTensorsIndex, files_are_of_its_directory) {
  const auto refusal = [](const std::string& file) {
    return "f: tensor 'a': its file is " + file +
           "; accepted are names of files in the same directory";
  };
  EXPECT_EQ(outcome_of_map("{\"a\":\"../secret\"}"), refusal(R"("../secret")"));
  EXPECT_EQ(outcome_of_map("{\"a\":\"/etc/passwd\"}"), refusal(R"("/etc/passwd")"));
  EXPECT_EQ(outcome_of_map("{\"a\":\"sub/f\"}"), refusal(R"("sub/f")"));
  EXPECT_EQ(outcome_of_map("{\"a\":\"..\"}"), refusal(R"("..")"));
  EXPECT_EQ(outcome_of_map("{\"a\":\".\"}"), refusal(R"(".")"));
  EXPECT_EQ(outcome_of_map("{\"a\":\"\"}"), refusal(R"("")"));
  EXPECT_EQ(outcome_of_map("{\"a\":\"f\\u0000.safetensors\"}"),
            refusal(R"("f\u0000.safetensors")"));
  EXPECT_EQ(outcome_of_map("{\"a\":\"\\u001b[31m\"}"), refusal(R"("\u001b[31m")"));
  EXPECT_EQ(outcome_of_map("{\"a\":7}"), refusal("7"));
  EXPECT_EQ(outcome_of_map("{\"a\":{\"b\":\"c\"}}"), refusal("an object"));
}

TEST(SafeTensorsIndex, what_is_no_index_is_refused) {
  EXPECT_EQ(index_outcome(""), "f: at byte 0: is not JSON in or right after ''");
  EXPECT_EQ(index_outcome("[]"), "f: the index is a list; accepted is an object");
  EXPECT_EQ(index_outcome("{}"), "f: weight_map is missing");
  EXPECT_EQ(outcome_of_map("{}"),
            "f: weight_map is empty; accepted are names of tensors, each with its file");
  EXPECT_EQ(outcome_of_map("[\"a\"]"), "f: weight_map is a list; accepted is an object");
  EXPECT_EQ(outcome_of_map("{\"a\":\"f\",\"a\":\"g\"}"), "f: tensor 'a': the name is there twice");
  EXPECT_EQ(index_outcome("{\"weight_map\":{},\"weight_map\":{}}"), "f: weight_map is there twice");
  EXPECT_EQ(index_outcome("{\"x\":" + std::string(1000000, '[') + "}"),
            "f: nests objects and arrays deeper than 16");
  EXPECT_EQ(index_outcome(std::string(SafeTensors::kHeaderBytesMax + 1, ' ')),
            "f: the index has 100000001 bytes; accepted are up to 100000000");
}

}  // namespace
}  // namespace forge::formats
