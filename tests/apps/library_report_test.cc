#include "library_report.h"

#include <gtest/gtest.h>

#include <sstream>

namespace forge::apps {
namespace {

std::string printed(const gpu::LibraryReport& report) {
  std::ostringstream out;
  print_library(report, out);
  return out.str();
}

TEST(LibraryReports, name_what_was_refused_a_line_each) {
  constexpr gpu::LibraryShape kShape{256, 4096, 14336, numerics::HalfType::bf16};
  const gpu::LibraryReport report{
      .library = "cuBLASLt 13.1.0",
      .admitted = {{kShape, {"algorithm 66", {}}}},
      .refused = {{kShape, "algorithm 67", "other sums in 3 of 256 rows of spread numbers"}}};
  EXPECT_EQ(printed(report),
            "cuBLASLt 13.1.0: equal by probe for 1 shapes of products of many rows, 1 algorithms "
            "refused\n"
            "  256 x 4096 x 14336 bf16: algorithm 67: other sums in 3 of 256 rows of spread "
            "numbers\n");
}

TEST(LibraryReports, say_why_there_is_none_where_one_was_wanted) {
  EXPECT_EQ(printed({.missing = "libcublasLt.so.13: no such file"}),
            "no library for products of many rows: libcublasLt.so.13: no such file\n");
  EXPECT_EQ(printed({}), "");
}

}  // namespace
}  // namespace forge::apps
