// MaskWalk: the tokens that fit a configuration, by a walk over the trie of the vocabulary.
//
// A lexeme is tried on its own first. What it finds within itself, and where it ends, depends on
// its terminal's state alone, not on the stack: that part is remembered for the whole vocabulary.
// Only from its ends on, a few short tails of tokens, does the stack matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "configuration.h"
#include "vocabulary_index.h"

namespace forge::grammar {

class MaskWalk {
 public:
  MaskWalk(const Stepper& stepper, const Vocabulary::Index& index, std::span<std::uint32_t> mask,
           std::uint64_t steps_max)
      : stepper_(stepper), index_(index), mask_(mask), steps_left_(steps_max) {}

  /// Adds the tokens that fit. False: more steps than there are.
  bool add(const Configuration& from);

 private:
  bool spend(std::uint64_t steps) {
    steps_left_ -= std::min(steps_left_, steps);
    return steps_left_ > 0;
  }
  void set(std::uint32_t token) { mask_[token / 32] |= 1U << token % 32; }
  void set_tokens(const Trie& trie, std::uint32_t node) {
    for (const std::uint32_t token : trie.tokens_of(node)) set(token);
  }

  void walk(const Configuration& from, const Trie& trie, std::uint32_t node);
  /// `white` has been read before.
  void walk_structure(const Configuration& from, WhiteSpace white, const Trie& trie,
                      std::uint32_t node);
  void walk_lexeme(const Configuration& from, const Trie& trie, std::uint32_t node);
  std::shared_ptr<const TerminalWalk> walk_of_whole(const Configuration& from);
  void follow_exits(const Configuration& from, const TerminalWalk& found, const Trie& trie,
                    std::uint32_t node, bool filter);
  void follow_exit(const Configuration& from, const TerminalWalk::Exit& exit, const Trie& trie,
                   std::uint32_t node, bool filter);

  const Stepper& stepper_;
  const Vocabulary::Index& index_;
  std::span<std::uint32_t> mask_;
  std::uint64_t steps_left_;
};

}  // namespace forge::grammar
