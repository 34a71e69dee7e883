// The inside of a Vocabulary: tries, masks of plain text, the cache.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton.h"
#include "forge/grammar/vocabulary.h"

namespace forge::grammar {

/// Nodes in the order of a walk that goes down first: a node's first child follows it, and what
/// follows its last descendant is at `end`.
struct Trie {
  struct Node {
    std::uint32_t end = 0;
    std::uint32_t first_token = 0;  ///< in `tokens`: those of this node come first
    std::uint32_t tokens = 0;       ///< that end here
    std::uint16_t depth = 0;
    std::uint8_t byte = 0;
    bool may_separate = false;  ///< some child is a byte that may follow a number in JSON
  };
  std::vector<Node> nodes;
  std::vector<std::uint32_t> tokens;  ///< in the order of their bytes

  std::span<const std::uint32_t> tokens_of(std::uint32_t node) const {
    return std::span(tokens).subspan(nodes[node].first_token, nodes[node].tokens);
  }
  /// Of the node and all below it.
  std::span<const std::uint32_t> tokens_below(std::uint32_t node) const {
    const std::uint32_t end = nodes[node].end;
    const std::size_t last = end < nodes.size() ? nodes[end].first_token : tokens.size();
    return std::span(tokens).subspan(nodes[node].first_token, last - nodes[node].first_token);
  }
  bool has_children(std::uint32_t node) const { return nodes[node].end > node + 1; }
};

/// What the walk of a terminal over a trie has found.
struct TerminalWalk {
  /// The terminal ends at a node: of a string, with its quote; of a number, it may.
  struct Exit {
    std::uint32_t node = 0;
    std::uint32_t characters = 0;  ///< read since the walk began
    Label label = 0;
  };
  std::vector<std::uint32_t> tokens;  ///< that end within the terminal
  std::vector<std::uint32_t> mask;    ///< instead, where there are many
  bool takes_text = false;            ///< the masks of plain text belong to it
  bool in_rest = false;               ///< exits are nodes of the vocabulary's `rest`
  std::vector<Exit> exits;

  /// In a cache, with what its place there takes, about.
  std::size_t bytes() const {
    constexpr std::size_t kPlace = 128;
    return kPlace + sizeof(*this) + (tokens.capacity() + mask.capacity()) * sizeof(std::uint32_t) +
           exits.capacity() * sizeof(Exit);
  }
};

/// What a string without conditions does with a trie, from between two characters on.
struct FreeWalk {
  std::vector<bool> fits;  ///< of each of the trie's tokens: it ends within the string
  std::vector<TerminalWalk::Exit> exits;
};
FreeWalk walk_in_string(const Trie& trie);

/// The state of a terminal at which a walk of the whole vocabulary begins.
struct WalkKey {
  std::uint64_t terminal = 0;
  std::uint64_t partial = 0;
  std::uint64_t characters_left = 0;
  State state = 0;
  friend bool operator==(const WalkKey&, const WalkKey&) = default;
};

/// Two generations: where the younger is full it becomes the older, which is dropped.
class WalkCache {
 public:
  explicit WalkCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  std::shared_ptr<const TerminalWalk> find(const WalkKey& key);
  void add(const WalkKey& key, std::shared_ptr<const TerminalWalk> walk);
  std::size_t bytes() const;

 private:
  struct Hash {
    std::size_t operator()(const WalkKey& key) const {
      std::uint64_t hash = key.terminal * 0x9E3779B97F4A7C15U;
      hash = (hash ^ key.state) * 0x9E3779B97F4A7C15U;
      hash = (hash ^ key.partial ^ hash >> 31) * 0x9E3779B97F4A7C15U;
      return hash ^ key.characters_left ^ hash >> 29;
    }
  };
  using Walks = std::unordered_map<WalkKey, std::shared_ptr<const TerminalWalk>, Hash>;

  void add_young(const WalkKey& key, std::shared_ptr<const TerminalWalk> walk);

  std::size_t bytes_max_;
  mutable std::mutex mutex_;
  Walks young_;
  Walks old_;
  std::size_t young_bytes_ = 0;
  std::size_t old_bytes_ = 0;
};

struct Vocabulary::Index {
  explicit Index(std::size_t cache_bytes) : cache(cache_bytes) {}

  std::string bytes;                 ///< of all tokens
  std::vector<std::size_t> offsets;  ///< [size + 1]
  std::vector<std::uint32_t> eos;    ///< ascending
  Trie all;
  Trie structure;  ///< of tokens that may follow where no string or number is being read
  Trie text;       ///< of tokens of plain text: whole characters that a string has unescaped
  Trie rest;       ///< of all others
  std::size_t token_bytes_max = 0;
  FreeWalk rest_in_string;

  /// Tokens of plain text with up to n characters, for n below text_masks.size(); then those that
  /// have more, in the order of that number.
  std::vector<std::vector<std::uint32_t>> text_masks;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> long_text;  ///< characters, token

  mutable WalkCache cache;

  /// Adds the tokens of plain text with up to `characters` characters.
  void add_text(std::uint64_t characters, std::span<std::uint32_t> mask) const;
};

}  // namespace forge::grammar
