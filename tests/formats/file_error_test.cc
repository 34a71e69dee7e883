#include "forge/formats/file_error.h"

#include <gtest/gtest.h>

namespace forge::formats {
namespace {

TEST(FileError, says_file_tensor_and_place) {
  EXPECT_EQ(to_string(FileError{"a.gguf", "is wrong", "blk.0", 1234}),
            "a.gguf: tensor 'blk.0' at byte 1234: is wrong");
  EXPECT_EQ(to_string(FileError{"a.gguf", "is wrong", "blk.0"}),
            "a.gguf: tensor 'blk.0': is wrong");
  EXPECT_EQ(to_string(FileError{"a.gguf", "is wrong", "", 8}), "a.gguf: at byte 8: is wrong");
  EXPECT_EQ(to_string(FileError{"a.gguf", "is wrong"}), "a.gguf: is wrong");
}

TEST(FileError, a_name_from_a_stranger_cannot_write_to_the_terminal) {
  EXPECT_EQ(to_string(FileError{"a.gguf", "is wrong", "red\x1b[31m\n"}),
            "a.gguf: tensor 'red\\x1b[31m\\x0a': is wrong");
  EXPECT_EQ(to_string(FileError{"a.gguf", "is wrong", std::string(1000, 'n')}),
            "a.gguf: tensor '" + std::string(64, 'n') + "...': is wrong");
}

}  // namespace
}  // namespace forge::formats
