// PrefixIndex: which cached block holds the KV of which tokens, after which prefix.
//
// The KV of a token depends on all tokens before it, so a block is found by its whole prefix:
// the block before it (its parent; none at the start) and its own block_size tokens. A prompt is
// looked up block by block:
//
//   prompt   s s s s | a a a a | q q          block_size 4
//   find(salt,    s s s s) -> block 7
//   find(block 7, a a a a) -> block 2
//   the rest has no full block: 8 tokens of KV are there already
//
// Cached blocks form a tree: a path from the root spells a prefix. The first block of a path has a
// salt, too, and is found by who asks with the same: the time of a request tells nothing of those
// with another. This class keeps the tree, the tokens, the salts and the order of eviction;
// how the child of a block with given tokens is found is left to two implementations, which find
// the same blocks:
//   RadixIndex  a radix tree whose edges carry block_size token ids; SGLang's RadixAttention
//               (Zheng et al., "SGLang", NeurIPS 2024, section 3)
//   HashIndex   chained block hashes, as in vLLM; the hash is keyed and only says where to look:
//               parent and tokens are compared on every hit, so a collision never shows one
//               prompt's KV to another
//
// A cached block is used while a block table (or a session) holds it, else unused. A holder of a
// block holds all blocks before it, so an unused block has only unused blocks below it. Unused
// blocks stay cached until their memory is wanted: evict() gives up the one that was released
// first. It is always a leaf. When a block was released, all blocks below it had been released
// before, and none of them has been taken since, nor has one been added, because both need a used
// parent: a block waits behind everything below it. So this is LRU eviction of leaves, and its
// logical clock is the order of the calls.
//
// Owns the tree and a copy of the tokens; blocks and who holds them are PagedKVCache's business.
// Thread contract: none of its own. All memory is taken by the constructor: no call allocates,
// except unused(), blocks() and clone().
//
// Layout: a block is its own node, so everything is in flat arrays indexed by BlockId.
//   bytes per block   4 * block_size of tokens, 32 of this class, and RadixIndex 16 or HashIndex
//                     24 to 40: 112 or 120 to 136 with blocks of 16 tokens
//
// Invariants
//   1. The parent of a cached block is cached; a used block has a used parent.
//   2. No two cached blocks have the same parent, salt and tokens.
//   3. The block that was released first is a leaf.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "forge/core/ids.h"
#include "forge/core/scheduler_config.h"

namespace forge {

/// What a prefix is found by.
struct SaltedTokens {
  CacheSalt salt;
  std::span<const TokenId> tokens;
};

/// What a block comes after: another one, or nothing, at the start of the prefixes with a salt.
using PrefixParent = std::variant<CacheSalt, BlockId>;

class PrefixIndex {
 public:
  virtual ~PrefixIndex() = default;
  PrefixIndex& operator=(const PrefixIndex&) = delete;
  virtual std::unique_ptr<PrefixIndex> clone() const = 0;

  /// The cached block that holds `tokens` after `parent`, if there is one.
  /// Requires: `parent` is cached, block_size tokens.
  std::optional<BlockId> find(PrefixParent parent, std::span<const TokenId> tokens) const;

  /// Makes `block` findable; it is used. If another block holds `tokens` after `parent` already,
  /// returns that one and changes nothing.
  /// Requires: `parent` is cached and used, `block` is not cached, block_size tokens.
  std::optional<BlockId> insert(PrefixParent parent, std::span<const TokenId> tokens,
                                BlockId block);

  /// Marks the unused block `block` as used. Requires: its parent is used. O(1).
  void acquire(BlockId block);

  /// Marks the used block `block` as unused. Requires: no block below it is used. O(1).
  void release(BlockId block);

  /// Forgets the block that was released first and returns it; nullopt if all are used.
  std::optional<BlockId> evict();

  /// Forgets everything. O(num_blocks).
  void clear();

  bool contains(BlockId block) const { return node(block).state != State::absent; }
  std::optional<BlockId> parent(BlockId block) const;           ///< requires: it is cached
  CacheSalt salt(BlockId block) const;                          ///< requires: it is cached
  bool has_used_children(BlockId block) const;                  ///< requires: it is cached
  std::span<const TokenId> tokens(BlockId block) const;         ///< requires: it is cached
  std::uint32_t size() const { return size_; }                  ///< cached blocks
  std::uint32_t unused_count() const { return unused_count_; }  ///< cached blocks, unused
  /// For checkers and tools: all unused blocks in the order in which evict() would give them
  /// up, and all cached blocks in order of id.
  std::vector<BlockId> unused() const;
  std::vector<BlockId> blocks() const;

 protected:
  /// Requires: config.cache.block_size at least 1.
  explicit PrefixIndex(const SchedulerConfig& config);
  PrefixIndex(const PrefixIndex&) = default;

  /// The root of the tree, which is no block, has the id after the last block's.
  BlockId root() const { return root_; }
  /// Requires: `block` is cached.
  BlockId parent_or_root(BlockId block) const { return nodes_[block.value].parent; }
  /// Less than, equal to or greater than 0, as `key` comes before, is or comes after the salt and
  /// tokens of `block` in some total order.
  int compare(const SaltedTokens& key, BlockId block) const;

 private:
  /// What an implementation adds. `parent` is the root or cached, and then the salt of the key is
  /// its own. link() makes `block`, which is not cached yet, a child of `parent`, unless a child
  /// with this key exists: then it returns that one. unlink() is called for leaves only, which are
  /// cached until it returns.
  virtual std::optional<BlockId> find_child(BlockId parent, const SaltedTokens& key) const = 0;
  virtual std::optional<BlockId> link(BlockId parent, const SaltedTokens& key, BlockId block) = 0;
  virtual void unlink(BlockId block) = 0;
  virtual void unlink_all() = 0;

  enum class State : std::uint8_t { absent, unused, used };
  struct Node {
    BlockId parent;
    BlockId before;  // neighbours of an unused block in the list of them: a ring through the
    BlockId after;   // root, whose `after` was released first
    std::uint32_t children = 0;
    std::uint32_t used_children = 0;
    State state = State::absent;
  };
  static_assert(sizeof(Node) == 24);

  const Node& node(BlockId block) const;
  Node& cached(BlockId block);
  const Node& cached(BlockId block) const;
  BlockId block_or_root(PrefixParent parent) const;
  CacheSalt salt_after(PrefixParent parent) const;
  void leave_unused(const Node& node);
  void forget_all();

  std::uint32_t block_size_;
  BlockId root_;
  std::uint32_t size_ = 0;
  std::uint32_t unused_count_ = 0;
  std::vector<Node> nodes_;  // the root is the last
  std::vector<CacheSalt> salts_;
  std::vector<TokenId> tokens_;  // of block b at [b * block_size, (b + 1) * block_size)
};

/// Makes the index that `config` names. Requires: config.prefix_cache is not none.
std::unique_ptr<PrefixIndex> make_prefix_index(const SchedulerConfig& config);

}  // namespace forge
