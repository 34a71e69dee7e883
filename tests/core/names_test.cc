// Texts that name things: enumerators both ways, and those of strangers.
#include "forge/core/names.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "forge/core/quoted.h"
#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/core/step_plan.h"

namespace forge {

enum class NamedColor : std::uint8_t { red, green };
constexpr Names<NamedColor> names_of(NamedColor) { return {"red", "green"}; }

namespace {

enum class NamedAlone { automatic };
constexpr Names<NamedAlone> names_of(NamedAlone) { return {"auto"}; }

enum class Nameless { something };

static_assert(Named<NamedColor> && Named<NamedAlone> && !Named<Nameless>);
static_assert(Names<NamedColor>::kCount == 2 && Names<NamedAlone>::kCount == 1);

TEST(Names, go_both_ways) {
  EXPECT_EQ(name_of(NamedColor::red), "red");
  EXPECT_EQ(name_of(NamedColor::green), "green");
  EXPECT_EQ(name_of(NamedAlone::automatic), "auto");
  EXPECT_EQ(from_name<NamedColor>("green"), NamedColor::green);
  EXPECT_EQ(from_name<NamedColor>("auto"), std::nullopt);
  EXPECT_EQ(from_name<NamedColor>(""), std::nullopt);
}

/// No name is there twice, so each leads back to its enumerator.
template <class E>
void expect_names_lead_back() {
  for (std::size_t i = 0; i < Names<E>::kCount; ++i) {
    const E value = static_cast<E>(i);
    EXPECT_FALSE(name_of(value).empty());
    EXPECT_EQ(from_name<E>(name_of(value)), value) << name_of(value);
  }
}

TEST(Names, of_the_core_lead_back_to_their_enumerators) {
  expect_names_lead_back<CopyKind>();
  expect_names_lead_back<FinishReason>();
  expect_names_lead_back<FinishSignal>();
  expect_names_lead_back<PreemptionMode>();
  expect_names_lead_back<PreemptionPolicy>();
  expect_names_lead_back<PrefixCacheKind>();
  expect_names_lead_back<PrefixCacheUse>();
  expect_names_lead_back<Priority>();
}

TEST(InQuotes, is_one_line_of_printable_ascii_and_not_endless) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes("\n\x7f\xc3\xa9"), "'\\x0a\\x7f\\xc3\\xa9'");
  EXPECT_EQ(in_quotes(std::string(64, 'x')), "'" + std::string(64, 'x') + "'");
  EXPECT_EQ(in_quotes(std::string(65, 'x')), "'" + std::string(64, 'x') + "...'");
}

}  // namespace
}  // namespace forge
