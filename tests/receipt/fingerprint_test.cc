#include "forge/receipt/fingerprint.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "receipt/some_receipt.h"

namespace forge::receipt {
namespace {

TEST(Fingerprint, is_the_digest_of_its_parts_as_json) {
  // python3: the loop of fingerprint.h over json.dumps(parts, sort_keys=True,
  // separators=(",", ":"))
  const std::string parts =
      R"({"config":"7c2f000000000001","eos":"0 2","kv":"f32","machine":"","numerics":"canonical",)"
      R"("version":"0.1.0","vocabulary":"51c0000000000003",)"
      R"("weights":"93a000000000000193a0000000000002"})";
  EXPECT_EQ(to_string(testing::some_receipt().fingerprint), "fp_5cf0a596ef3010b9");
  EXPECT_EQ(text_digest(parts), 0x5cf0a596ef3010b9U);
}

TEST(Fingerprint, is_another_where_any_part_is) {
  const Fingerprint one = testing::some_receipt().fingerprint;
  std::set<std::string> texts = {to_string(one)};
  for (const auto& [name, text] : kFingerprintParts) {
    Fingerprint other = one;
    other.*text += "1";
    EXPECT_TRUE(texts.insert(to_string(other)).second) << name;
  }
}

TEST(Fingerprint, has_a_digest_that_others_compute_alike) {
  // draft-eastlake-fnv, appendix C: FNV-1a of 64 bits.
  EXPECT_EQ(text_digest(""), 0xcbf29ce484222325U);
  EXPECT_EQ(text_digest("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(text_digest("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace forge::receipt
