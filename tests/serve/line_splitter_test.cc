// Lines of a text that arrives in parts.
#include "line_splitter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "serve/line_splitter_check.h"

namespace forge::test {
namespace {

using serve::LineSplitter;

constexpr std::size_t kMax = 5;

TEST(LineSplitter, has_the_lines_of_a_text_and_their_numbers) {
  EXPECT_EQ(lines_of("a\nbc\n", 99, kMax), "1:a 2:bc ");
  EXPECT_EQ(lines_of("a\nbc", 99, kMax), "1:a 2:bc ") << "the last line needs no end";
  EXPECT_EQ(lines_of("a\r\nb\rc\r\n", 99, kMax), "1:a 2:b\rc ");
  EXPECT_EQ(lines_of("\n\na\n \t\n\r\nb", 99, kMax), "3:a 6:b ") << "blank ones are passed over";
  EXPECT_EQ(lines_of("", 99, kMax), "");
  EXPECT_EQ(lines_of("\n", 99, kMax), "");
}

TEST(LineSplitter, of_a_line_that_is_too_long_only_that_is_known) {
  EXPECT_EQ(lines_of("12345\n123456\nabc\n", 99, kMax), "1:12345 2:too long 3:abc ");
  EXPECT_EQ(lines_of("12345\r\n123456\r\n", 99, kMax), "1:12345 2:too long ");
  EXPECT_EQ(lines_of("1\n" + std::string(1000, 'x'), 99, kMax), "1:1 2:too long ");
}

TEST(LineSplitter, has_the_same_lines_however_the_text_arrives) {
  for (const std::string text :
       {"a\r\n\r\nbb\n123456\n12345\r\n1234567\r\nc", "123456", "12345\r", "\n\n"}) {
    const std::string whole = lines_of(text, text.size(), kMax);
    for (std::size_t part = 1; part < text.size(); ++part) {
      EXPECT_EQ(lines_of(text, part, kMax), whole) << text << " in parts of " << part;
    }
  }
}

TEST(LineSplitter, a_line_can_be_taken_once_its_end_has_come) {
  LineSplitter splitter(kMax);
  splitter.put("a\nb");
  EXPECT_EQ(splitter.next()->text, "a");
  EXPECT_FALSE(splitter.next());
  splitter.put("c\n");
  EXPECT_EQ(splitter.next()->text, "bc");
  EXPECT_EQ(splitter.number(), 2U);
}

}  // namespace
}  // namespace forge::test
