// The tokens that may follow a text of a grammar, and how many steps it takes to find them.
#include <algorithm>

#include "answering.h"
#include "forge/core/check.h"
#include "forge/grammar/matcher.h"
#include "mask_walk.h"

namespace forge::labs {
namespace {

/// All ways to have read the text.
std::vector<grammar::Configuration> ways_of(const grammar::Stepper& stepper,
                                            const std::string& text) {
  std::vector<grammar::Configuration> ways;
  stepper.start(ways);
  for (const char c : text) {
    std::vector<grammar::Configuration> next;
    for (const auto& way : ways) stepper.step(way, static_cast<unsigned char>(c), next);
    ways = std::move(next);
  }
  return ways;
}

/// The steps that the mask takes: with one less MaskWalk::add says that there are too few.
std::uint64_t steps_of(const grammar::Grammar& grammar, const grammar::Vocabulary& vocabulary,
                       const std::string& text) {
  const grammar::Stepper stepper(grammar.automaton());
  std::uint64_t steps = 0;
  for (const auto& way : ways_of(stepper, text)) {
    std::vector<std::uint32_t> mask(vocabulary.mask_words());
    const auto is_enough = [&](std::uint64_t most) {
      return grammar::MaskWalk(stepper, vocabulary.index(), mask, most).add(way);
    };
    std::uint64_t few = 0;
    std::uint64_t enough = std::uint64_t{1} << 20;
    FORGE_CHECK(is_enough(enough), "a mask takes more than a million steps");
    while (few + 1 < enough) {
      const std::uint64_t middle = (few + enough) / 2;
      (is_enough(middle) ? enough : few) = middle;
    }
    steps += enough - 1;
  }
  return steps;
}

/// {"schema": ..., "text": ..., "tokens": [...]} -> of each token, whether it may
/// follow, and how many steps it takes.
Json play(const Json& input, bool with_steps) {
  // Without a cache: a mask takes as many steps again.
  constexpr std::size_t kNoCache = 0;
  const auto grammar = grammar::Grammar::from_json_schema(input.at("schema").dump());
  if (!grammar) return Json::array({"no grammar: " + to_string(grammar.error())});
  const auto text = input.at("text").get<std::string>();
  const auto tokens = input.at("tokens").get<std::vector<std::string>>();
  const auto eos = static_cast<std::uint32_t>(tokens.size());
  std::vector<std::string_view> bytes(tokens.begin(), tokens.end());
  bytes.emplace_back();
  const grammar::Vocabulary vocabulary({.tokens = bytes, .eos = {eos}}, kNoCache);

  grammar::Matcher matcher(*grammar);
  if (!matcher.accept(text)) return Json::array({"no text of the grammar"});
  std::vector<std::uint32_t> mask(vocabulary.mask_words());
  (void)matcher.fill_mask(vocabulary, mask);  // no token fits: the mask says so
  Json lines = Json::array();
  for (std::uint32_t token = 0; token <= eos; ++token) {
    const bool fits = (mask[token / 32] >> token % 32 & 1U) != 0;
    const std::string name = token == eos ? "the end" : Json(tokens[token]).dump();
    lines.push_back(name + (fits ? " may follow" : " may not follow"));
  }
  if (with_steps) lines.push_back("steps: " + std::to_string(steps_of(*grammar, vocabulary, text)));
  return lines;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  const Answer with_steps = [](const Json& input) { return play(input, true); };
  const Answer without = [](const Json& input) { return play(input, false); };
  return {{"walk_structure", with_steps}, {"scan_text", with_steps}, {"add_below", without}};
}

}  // namespace forge::labs
