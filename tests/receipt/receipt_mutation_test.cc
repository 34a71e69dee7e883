// Receipts with bytes changed, cut and doubled: each is refused in words, or is a receipt.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "receipt/some_receipt.h"

namespace forge::receipt {
namespace {

TEST(ReceiptMutations, are_refused_or_receipts) {
  std::mt19937_64 random(20261128);
  const std::string whole = to_json(testing::some_receipt()).dump();
  ASSERT_TRUE(testing::check_receipt_parser(whole));
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (std::uint64_t change = random() % 3 + 1; change > 0; --change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 9 + 1);
          break;
        default:
          text.insert(at, text.substr(at, random() % 9 + 1));
      }
      if (text.empty()) break;
    }
    testing::check_receipt_parser(text);
  }
}

TEST(ReceiptMutations, begin_from_a_corpus_that_has_a_receipt) {
  int receipts = 0;
  for (const auto& file : std::filesystem::directory_iterator(FORGE_RECEIPT_CORPUS)) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    receipts += testing::check_receipt_parser(text) ? 1 : 0;
  }
  EXPECT_GE(receipts, 1);
}

}  // namespace
}  // namespace forge::receipt
