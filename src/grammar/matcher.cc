#include "forge/grammar/matcher.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdio>

#include "closing.h"
#include "configuration.h"
#include "forge/core/check.h"
#include "mask_walk.h"

namespace forge::grammar {
namespace {

MatchError too_many_ways(std::size_t accepted) {
  return {
      MatchError::Kind::limit, accepted,
      "the grammar has more than " + std::to_string(Matcher::kWaysMax) + " ways to read the text"};
}

MatchError refused(std::size_t accepted) { return {MatchError::Kind::refused, accepted, {}}; }

void clear(std::span<std::uint32_t> mask) { std::fill(mask.begin(), mask.end(), 0); }

bool is_empty(std::span<const std::uint32_t> mask) {
  return std::all_of(mask.begin(), mask.end(), [](std::uint32_t word) { return word == 0; });
}

}  // namespace

struct Matcher::State {
  std::vector<Configuration> ways;

  bool takes(const Stepper& stepper, unsigned char byte) const {
    std::vector<Configuration> next;
    return std::ranges::any_of(ways, [&](const Configuration& way) {
      stepper.step(way, byte, next);
      return !next.empty();
    });
  }
};

Matcher::Matcher(Grammar grammar)
    : grammar_(std::move(grammar)), state_(std::make_unique<State>()) {
  Stepper(grammar_.automaton()).start(state_->ways);
}

Matcher::Matcher(const Matcher& other)
    : grammar_(other.grammar_),
      state_(std::make_unique<State>(*other.state_)),
      has_ended_(other.has_ended_) {}

Matcher& Matcher::operator=(const Matcher& other) {
  if (this != &other) *this = Matcher(other);
  return *this;
}

Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;
Matcher::~Matcher() = default;

Matched Matcher::accept(std::string_view bytes) {
  const Stepper stepper(grammar_.automaton());
  std::vector<Configuration>& ways = state_->ways;
  std::vector<Configuration> next;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    next.clear();
    // Where it is certain that there is a next, the ways need not be copied.
    const bool is_certain = std::any_of(ways.begin(), ways.end(), [&](const Configuration& way) {
      return stepper.goes_on(way, byte);
    });
    for (Configuration& way : ways) {
      if (has_ended_) break;
      if (is_certain) {
        stepper.step(std::move(way), byte, next);
      } else {
        stepper.step(way, byte, next);
      }
    }
    if (next.empty()) return tl::unexpected(refused(i));
    // Equal ways are one from here on.
    ways.clear();
    for (Configuration& way : next) {
      if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(std::move(way));
      if (ways.size() > kWaysMax) return tl::unexpected(too_many_ways(i));
    }
  }
  return {};
}

bool Matcher::can_end() const {
  const Stepper stepper(grammar_.automaton());
  return !has_ended_ && std::any_of(state_->ways.begin(), state_->ways.end(),
                                    [&](const Configuration& way) { return stepper.can_end(way); });
}

bool Matcher::is_complete() const {
  if (!can_end()) return false;
  const Stepper stepper(grammar_.automaton());
  for (unsigned number = 0; number < 256; ++number) {
    const auto byte = static_cast<unsigned char>(number);
    if (!is_space(byte) && state_->takes(stepper, byte)) return false;
  }
  return true;
}

std::string Matcher::expected() const {
  if (has_ended_) return "nothing: the text has ended";
  const Stepper stepper(grammar_.automaton());
  std::bitset<256> fits;
  for (unsigned byte = 0; byte < fits.size(); ++byte) {
    fits[byte] = state_->takes(stepper, static_cast<unsigned char>(byte));
  }
  std::vector<std::string> parts;
  const auto shown = [](unsigned byte) -> std::string {
    if (byte > 0x20 && byte < 0x7F) return std::string("'") + static_cast<char>(byte) + "'";
    if (byte == ' ') return "a space";
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%02x", byte);
    return hex.data();
  };
  const bool spaces = fits[' '] && fits['\n'] && fits['\t'] && fits['\r'];
  for (unsigned byte = 0; byte < fits.size(); ++byte) {
    if (!fits[byte] || (spaces && is_space(static_cast<unsigned char>(byte)))) continue;
    unsigned last = byte;
    while (last + 1 < fits.size() && fits[last + 1]) ++last;
    parts.push_back(last == byte ? shown(byte) : shown(byte) + " to " + shown(last));
    byte = last;
  }
  if (spaces) parts.emplace_back("white space");
  if (can_end()) parts.emplace_back("the end");
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    result += (i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + parts[i];
  }
  return result;
}

Matched Matcher::fill_mask(const Vocabulary& vocabulary, std::span<std::uint32_t> mask) const {
  FORGE_CHECK(mask.size() == vocabulary.mask_words(), "mask has ", mask.size(), " words");
  clear(mask);
  const Stepper stepper(grammar_.automaton());
  MaskWalk walk(stepper, vocabulary.index(), mask, kMaskStepsMax);
  for (const Configuration& way : state_->ways) {
    if (!has_ended_ && !walk.add(way)) {
      clear(mask);
      return tl::unexpected(
          MatchError{MatchError::Kind::limit, 0,
                     "a mask needs more than " + std::to_string(kMaskStepsMax) + " steps"});
    }
  }
  if (can_end()) {
    for (const std::uint32_t token : vocabulary.index().eos) {
      if (token < vocabulary.size()) mask[token / 32] |= 1U << token % 32;
    }
  }
  if (is_empty(mask)) {
    return tl::unexpected(MatchError{MatchError::Kind::no_token, 0,
                                     "no token of the vocabulary fits; expected " + expected()});
  }
  return {};
}

std::string Matcher::closing_text(std::size_t bytes_max) const {
  // Compared at this length, which is also how deep values are nested in it at most.
  constexpr std::size_t kCompared = 2000;
  if (can_end() || has_ended_) return "";
  const Stepper stepper(grammar_.automaton());
  std::string best;
  for (std::size_t i = 0; i < state_->ways.size(); ++i) {
    std::string text = Closing(stepper, std::max(bytes_max, kCompared)).run(state_->ways[i]);
    if (i == 0 || text.size() < best.size()) best = std::move(text);
  }
  if (best.size() > bytes_max) best.resize(bytes_max);
  return best;
}

Matched Matcher::fill_closing_mask(const Vocabulary& vocabulary,
                                   std::span<std::uint32_t> mask) const {
  FORGE_CHECK(mask.size() == vocabulary.mask_words(), "mask has ", mask.size(), " words");
  clear(mask);
  const Vocabulary::Index& index = vocabulary.index();
  if (can_end()) {
    for (const std::uint32_t token : index.eos) {
      if (token < vocabulary.size()) mask[token / 32] |= 1U << token % 32;
    }
  } else if (!has_ended_) {
    const std::string text = closing_text(index.token_bytes_max);
    std::uint32_t node = 0;
    for (const char c : text) {
      const std::uint32_t end = index.all.nodes[node].end;
      std::uint32_t child = node + 1;
      while (child < end && index.all.nodes[child].byte != static_cast<std::uint8_t>(c)) {
        child = index.all.nodes[child].end;
      }
      if (child >= end) break;
      node = child;
      for (const std::uint32_t token : index.all.tokens_of(node))
        mask[token / 32] |= 1U << token % 32;
    }
  }
  return is_empty(mask) ? fill_mask(vocabulary, mask) : Matched();
}

Matched Matcher::accept_token(const Vocabulary& vocabulary, std::uint32_t token) {
  if (vocabulary.is_eos(token)) {
    if (!can_end()) return tl::unexpected(refused(0));
    has_ended_ = true;
    return {};
  }
  const std::string_view bytes = vocabulary.bytes_of(token);
  if (bytes.empty()) return tl::unexpected(refused(0));
  Matcher before = *this;
  Matched result = accept(bytes);
  if (!result) *this = std::move(before);
  return result;
}

}  // namespace forge::grammar
