// Follower: what somebody knows of a prefix cache who has the bytes of its events and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace forge::test {

class Follower {
 public:
  struct Block {
    std::optional<std::uint64_t> parent;
    std::vector<std::uint32_t> tokens;
    friend bool operator==(const Block&, const Block&) = default;
  };
  using Blocks = std::map<std::uint64_t, Block>;

  /// A batch of the map form. A parent that is not known, a block that is known already or, if it
  /// is removed, not known fails the test.
  void apply(const std::string& bytes) {
    const auto batch = nlohmann::json::from_msgpack(bytes);
    for (const auto& event : batch.at(1)) {
      const std::string type = event.at("type");
      if (type == "BlockStored") {
        store(event);
      } else if (type == "BlockRemoved") {
        for (const std::uint64_t hash : event.at("block_hashes")) {
          ASSERT_EQ(blocks_.erase(hash), 1U) << "removed, and never stored: " << hash;
        }
      } else {
        ASSERT_EQ(type, "AllBlocksCleared");
        blocks_.clear();
      }
    }
  }

  const Blocks& blocks() const { return blocks_; }

 private:
  void store(const nlohmann::json& event) {
    const std::size_t block_size = event.at("block_size");
    const auto& hashes = event.at("block_hashes");
    const auto& tokens = event.at("token_ids");
    ASSERT_EQ(tokens.size(), hashes.size() * block_size);
    std::optional<std::uint64_t> parent;
    if (!event.at("parent_block_hash").is_null()) {
      parent = event.at("parent_block_hash").get<std::uint64_t>();
      ASSERT_TRUE(blocks_.contains(*parent)) << "a child before its parent: " << *parent;
    }
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      Block block{parent, {}};
      for (std::size_t k = i * block_size; k < (i + 1) * block_size; ++k) {
        block.tokens.push_back(tokens[k]);
      }
      const std::uint64_t hash = hashes[i];
      ASSERT_TRUE(blocks_.emplace(hash, std::move(block)).second) << "stored twice: " << hash;
      parent = hash;
    }
  }

  Blocks blocks_;
};

}  // namespace forge::test
