// RadixIndex: a prefix index that is a radix tree over token ids.
//
// Each edge carries the tokens of one block. The children of a block are kept as a binary search
// tree ordered by their tokens, which makes the whole a ternary search tree (Bentley and Sedgewick,
// "Fast algorithms for sorting and searching strings", SODA 1997) whose characters are blocks:
//
//            root
//             |  children
//             5          three prompts begin with blocks 5, 3 and 8;
//           / | \        the first goes on with block 2
//   lower  3  |  8  higher
//             2
//
// Most blocks have one child or none. But the root has as many as there are prompts that differ in
// their first block, and in a sorted array of those each new one would move half the others. The
// search trees are treaps (Seidel and Aragon, "Randomized search trees", Algorithmica 16, 1996): a
// block is above those of its siblings with a lower priority, and the priority is a fixed
// scrambling of the id. So the shape of a tree does not depend on the order of insertions, and
// a client who chooses the tokens does not choose the shape.
//
// Siblings are ordered by their last token, then by the others and the salt: blocks often begin
// alike (the same beginning-of-sequence token, the same template), and a block's last token lies
// with its links, so that a step down the tree seldom looks at the tokens.
//
// find, insert, evict: O(log(children of the parent)) comparisons, expected.
#pragma once

#include "forge/core/prefix_index.h"

namespace forge {

class RadixIndex final : public PrefixIndex {
 public:
  explicit RadixIndex(const SchedulerConfig& config);
  std::unique_ptr<PrefixIndex> clone() const override;

 private:
  /// The places of a block in two search trees. root() stands for no block.
  struct Links {
    BlockId lower;     // siblings below it in their tree whose keys come before its own ...
    BlockId higher;    // ... and after
    BlockId children;  // the top of its children's tree
    TokenId last_token;
  };
  static_assert(sizeof(Links) == 16);

  std::optional<BlockId> find_child(BlockId parent, const SaltedTokens& key) const override;
  std::optional<BlockId> link(BlockId parent, const SaltedTokens& key, BlockId block) override;
  void unlink(BlockId block) override;
  void unlink_all() override;

  int order_among_siblings(const SaltedTokens& key, BlockId sibling) const;
  /// The link of `sibling` to the side of a block with this key. Requires: it is not its own.
  BlockId& side(const SaltedTokens& key, BlockId sibling);

  std::vector<Links> links_;  // the root is the last
};

}  // namespace forge
