// Documents are those of scripts/train/corpus.py (tests/golden/corpus/digests.txt, printed by
// scripts/train/digest.py), and their answers are right by what can be read in the text alone.
#include "forge/corpus/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "forge/core/digest.h"
#include "forge/corpus/glossary.h"

namespace forge::corpus {
namespace {

using testing::Contains;

std::uint64_t digest_of(std::uint64_t first_seed, std::uint64_t count) {
  Digest digest;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Document doc = document(first_seed + i);
    digest.add(doc.text.size());
    for (const char c : doc.text) digest.add(static_cast<unsigned char>(c));
    digest.add(doc.answers.size());
    for (const Answer& answer : doc.answers) {
      digest.add(static_cast<std::uint64_t>(answer.kind)).add(answer.begin).add(answer.end);
    }
    digest.add(doc.choices.size());
    for (const Choice& choice : doc.choices) digest.add(choice.weight).add(choice.total);
  }
  return digest.value();
}

TEST(Document, is_what_the_trainer_makes_of_the_seed) {
  std::ifstream golden(FORGE_GOLDEN_CORPUS "/digests.txt");
  std::uint64_t first_seed = 0;
  std::uint64_t count = 0;
  std::string expected;
  int lines = 0;
  for (; golden >> first_seed >> count >> expected; ++lines) {
    std::ostringstream digest;
    digest << std::hex << std::setw(16) << std::setfill('0') << digest_of(first_seed, count);
    EXPECT_EQ(digest.str(), expected) << "seeds " << first_seed << " to " << first_seed + count;
  }
  EXPECT_EQ(lines, 5);
}

/// The question that comes before an answer, and what the document tells before it.
struct Asked {
  std::string told;
  std::string question;
  std::string answer;
};

std::vector<Asked> asked_of(Kind kind, std::uint64_t seeds) {
  std::vector<Asked> found;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Document doc = document(seed);
    for (const Answer& answer : doc.answers) {
      if (answer.kind != kind) continue;
      std::string told(answer.prompt(doc.text));
      static const std::regex kMarks("<\\|im_end\\|>\n<\\|im_start\\|>assistant\n$| $");
      told = std::regex_replace(told, kMarks, "");
      const std::size_t begin = told.find_last_of(".\n", told.size() - 2);
      const std::size_t at = begin == std::string::npos ? 0 : begin + 1;
      const std::size_t word = told.find_first_not_of(' ', at);
      found.push_back({told, told.substr(word), std::string(answer.of(doc.text))});
    }
  }
  return found;
}

TEST(Document, sums_are_right) {
  const std::regex sum("What is (\\d+)([+-])(\\d+)\\?");
  const auto all = asked_of(Kind::sum, 2000);
  for (const auto& [told, question, answer] : all) {
    std::smatch part;
    ASSERT_TRUE(std::regex_match(question, part, sum)) << question;
    const int a = std::stoi(part[1]);
    const int b = std::stoi(part[3]);
    const int result = part[2] == "+" ? a + b : a - b;
    EXPECT_EQ(answer, std::to_string(result)) << question;
    EXPECT_TRUE(result >= 0 && result <= 99) << question;
  }
  EXPECT_GT(all.size(), 100U);
}

TEST(Document, digits_are_sorted) {
  for (const auto& [told, question, answer] : asked_of(Kind::sort, 2000)) {
    std::string expected;
    for (const char c : question) {
      if (c >= '0' && c <= '9') expected += c;
    }
    std::sort(expected.begin(), expected.end());
    std::string digits = answer;
    std::erase(digits, ' ');
    EXPECT_EQ(digits, expected) << question;
  }
}

TEST(Document, objects_say_in_json_what_was_asked) {
  for (const auto& [told, question, answer] : asked_of(Kind::json, 2000)) {
    const auto object = nlohmann::json::parse(answer, nullptr, false);
    ASSERT_TRUE(object.is_object()) << answer;
    for (const auto& [key, value] : object.items()) {
      const std::string said = value.is_string() ? value.get<std::string>() : value.dump();
      EXPECT_NE(question.find(std::string(key).append(" ").append(said)), std::string::npos)
          << question << answer;
    }
  }
}

TEST(Document, every_word_of_the_glossary_is_asked_for) {
  std::map<std::string, std::string> found;
  for (const auto& [told, question, answer] : asked_of(Kind::glossary, 8000)) {
    found.emplace(question, answer);
  }
  for (const GlossaryEntry& entry : glossary()) {
    EXPECT_THAT(found, Contains(std::pair(std::string(entry.question), std::string(entry.answer))));
  }
  EXPECT_EQ(found.size(), glossary().size());
}

/// The story read backwards, without a state: the last sentence that moved somebody says where.
std::string place_of(const std::string& told, const std::string& name) {
  const std::regex moved(name + " (?:is at|goes to) the (\\w+)\\.");
  std::string place;
  for (std::sregex_iterator it(told.begin(), told.end(), moved), end; it != end; ++it) {
    place = (*it)[1];
  }
  return place;
}

TEST(Document, people_are_where_they_went_last) {
  const auto all = asked_of(Kind::place, 2000);
  for (const auto& [told, question, answer] : all) {
    const std::string name = question.substr(9, question.size() - 10);
    EXPECT_EQ(answer, name + " is at the " + place_of(told, name) + ".") << told;
  }
  EXPECT_GT(all.size(), 100U);
}

/// The last that happened to a thing.
struct Fate {
  std::string holder;  ///< empty: it was put down
  std::string place;
};

Fate fate_of(const std::string& told, const std::string& thing) {
  const std::regex happened("The " + thing + " (?:is given to (\\w+)|lies at the (\\w+))\\.");
  Fate last;
  for (std::sregex_iterator it(told.begin(), told.end(), happened), end; it != end; ++it) {
    last = {(*it)[1], (*it)[2]};
  }
  return last;
}

TEST(Document, things_are_with_who_had_them_last_or_where_they_were_put_down) {
  const auto all = asked_of(Kind::thing, 2000);
  for (const auto& [told, question, answer] : all) {
    const std::string thing = question.substr(13, question.size() - 14);
    const auto [holder, place] = fate_of(told, thing);
    EXPECT_EQ(answer, holder.empty() ? "The " + thing + " is at the " + place + "."
                                     : "The " + thing + " is now with " + holder + ". " + holder +
                                           " is at the " + place_of(told, holder) + ".")
        << told;
  }
  EXPECT_GT(all.size(), 100U);
}

TEST(Document, who_has_a_thing_had_it_last) {
  const auto all = asked_of(Kind::holder, 2000);
  for (const auto& [told, question, answer] : all) {
    const std::string thing = question.substr(12, question.size() - 13);
    EXPECT_EQ(answer, "The " + thing + " is now with " + fate_of(told, thing).holder + ".") << told;
  }
  EXPECT_GT(all.size(), 100U);
}

TEST(Document, things_keep_their_color) {
  const auto all = asked_of(Kind::which, 2000);
  for (const auto& [told, question, answer] : all) {
    const std::string thing = question.substr(19, question.size() - 20);
    std::smatch color;
    ASSERT_TRUE(std::regex_search(told, color, std::regex(thing + ", which is (\\w+)\\.")));
    EXPECT_EQ(answer, "The " + thing + " is " + color[1].str() + ".") << told;
  }
  EXPECT_GT(all.size(), 100U);
}

/// Texts that differ show choices that differ, so the probabilities of all texts add up to one: no
/// two lists of choices may give one text.
TEST(Document, shows_each_of_its_choices) {
  std::map<std::string, std::string> choices_of;
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    const Document doc = document(seed);
    std::ostringstream choices;
    for (const Choice& choice : doc.choices) choices << choice.weight << '/' << choice.total << ' ';
    const auto [found, is_new] = choices_of.emplace(doc.text, choices.str());
    EXPECT_TRUE(is_new || found->second == choices.str()) << doc.text;
  }
}

TEST(Document, is_ascii_and_ends_after_its_last_answer) {
  for (std::uint64_t seed = kUnseen; seed < kUnseen + 1000; ++seed) {
    const Document doc = document(seed);
    for (const char c : doc.text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
    const std::string rest = doc.text.substr(doc.answers.back().end);
    EXPECT_TRUE(rest.empty() || rest == "<|im_end|>\n") << doc.text;
  }
}

}  // namespace
}  // namespace forge::corpus
