#include "forge/grammar/vocabulary.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "configuration.h"
#include "utf8.h"
#include "vocabulary_index.h"

namespace forge::grammar {
namespace {

/// How many characters the bytes are, if they are whole characters that a string of JSON has as
/// they are.
std::optional<std::uint32_t> text_characters(std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == '"' || byte == '\\') return std::nullopt;
  }
  const auto characters = characters_of(bytes);
  if (!characters) return std::nullopt;
  return static_cast<std::uint32_t>(characters->size());
}

/// May the token come where a value, a key or a mark of JSON begins?
bool begins_structure(std::string_view bytes) {
  const std::size_t start = std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size());
  const std::string_view rest = bytes.substr(start);
  if (rest.empty()) return true;
  for (const std::string_view literal : {"true", "false", "null"}) {
    const std::size_t size = std::min(rest.size(), literal.size());
    if (rest.substr(0, size) == literal.substr(0, size)) return true;
  }
  return std::string_view("\"[]{},:-0123456789").find(rest[0]) != std::string_view::npos;
}

class TrieBuilder {
 public:
  TrieBuilder(const Vocabulary::Index& index, std::vector<std::uint32_t> tokens) {
    const auto bytes = [&](std::uint32_t token) {
      return std::string_view(index.bytes)
          .substr(index.offsets[token], index.offsets[token + 1] - index.offsets[token]);
    };
    std::sort(tokens.begin(), tokens.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int order = bytes(a).compare(bytes(b));
      return order != 0 ? order < 0 : a < b;
    });
    trie_.tokens = std::move(tokens);
    trie_.nodes.emplace_back();
    open_ = {0};
    std::string_view before;
    for (std::uint32_t i = 0; i < trie_.tokens.size(); ++i) {
      const std::string_view text = bytes(trie_.tokens[i]);
      const auto differs = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
      close_to(static_cast<std::size_t>(differs.first - before.begin()));
      for (std::size_t at = open_.size() - 1; at < text.size(); ++at) {
        add(static_cast<std::uint8_t>(text[at]), i);
      }
      ++trie_.nodes[open_.back()].tokens;
      before = text;
    }
    close_to(0);
    trie_.nodes[0].end = static_cast<std::uint32_t>(trie_.nodes.size());
  }

  Trie run() { return std::move(trie_); }

 private:
  void close_to(std::size_t depth) {
    for (; open_.size() > depth + 1; open_.pop_back()) {
      trie_.nodes[open_.back()].end = static_cast<std::uint32_t>(trie_.nodes.size());
    }
  }
  void add(std::uint8_t byte, std::uint32_t first_token) {
    if (is_space(byte) || byte == ',' || byte == ']' || byte == '}') {
      trie_.nodes[open_.back()].may_separate = true;
    }
    Trie::Node node;
    node.byte = byte;
    node.first_token = first_token;
    node.depth = static_cast<std::uint16_t>(open_.size());
    open_.push_back(static_cast<std::uint32_t>(trie_.nodes.size()));
    trie_.nodes.push_back(node);
  }

  Trie trie_;
  std::vector<std::uint32_t> open_;
};

/// Longer tokens are taken for none: a walk goes as deep as they are long.
constexpr std::size_t kTokenBytesMax = 1024;
constexpr std::size_t kTextMasks = 33;

}  // namespace

void Vocabulary::Index::add_text(std::uint64_t characters, std::span<std::uint32_t> mask) const {
  const auto& ready = text_masks[std::min<std::uint64_t>(characters, text_masks.size() - 1)];
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] |= ready[i];
  for (const auto& [size, token] : long_text) {
    if (size > characters) break;
    mask[token / 32] |= 1U << token % 32;
  }
}

Vocabulary::Vocabulary(const VocabularyTokens& tokens, std::size_t cache_bytes)
    : size_(tokens.tokens.size()) {
  auto index = std::make_unique<Index>(cache_bytes);
  index->eos = tokens.eos;
  std::sort(index->eos.begin(), index->eos.end());
  index->offsets.reserve(size_ + 1);
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> structure;
  std::vector<std::uint32_t> plain;
  std::vector<std::uint32_t> rest;
  index->text_masks.assign(kTextMasks, std::vector<std::uint32_t>(mask_words(), 0));
  for (std::uint32_t token = 0; token < size_; ++token) {
    std::string_view bytes = tokens.tokens[token];
    if (bytes.size() > kTokenBytesMax ||
        std::binary_search(index->eos.begin(), index->eos.end(), token))
      bytes = {};
    index->offsets.push_back(index->bytes.size());
    index->bytes += bytes;
    index->token_bytes_max = std::max(index->token_bytes_max, bytes.size());
    if (bytes.empty()) continue;
    all.push_back(token);
    if (begins_structure(bytes)) structure.push_back(token);
    const auto characters = text_characters(bytes);
    (characters ? plain : rest).push_back(token);
    if (!characters) continue;
    if (*characters < kTextMasks) {
      for (std::size_t n = *characters; n < kTextMasks; ++n) {
        index->text_masks[n][token / 32] |= 1U << token % 32;
      }
    } else {
      index->long_text.emplace_back(*characters, token);
    }
  }
  index->offsets.push_back(index->bytes.size());
  std::sort(index->long_text.begin(), index->long_text.end());
  index->all = TrieBuilder(*index, std::move(all)).run();
  index->structure = TrieBuilder(*index, std::move(structure)).run();
  index->text = TrieBuilder(*index, std::move(plain)).run();
  index->rest = TrieBuilder(*index, std::move(rest)).run();
  index->rest_in_string = walk_in_string(index->rest);
  index_ = std::move(index);
}

Vocabulary::~Vocabulary() = default;

std::string_view Vocabulary::bytes_of(std::uint32_t token) const {
  if (token >= size_) return {};
  const std::size_t begin = index_->offsets[token];
  return std::string_view(index_->bytes).substr(begin, index_->offsets[token + 1] - begin);
}

bool Vocabulary::is_eos(std::uint32_t token) const {
  return std::binary_search(index_->eos.begin(), index_->eos.end(), token);
}

std::size_t Vocabulary::token_bytes_max() const { return index_->token_bytes_max; }
std::size_t Vocabulary::cached_bytes() const { return index_->cache.bytes(); }

std::shared_ptr<const TerminalWalk> WalkCache::find(const WalkKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = young_.find(key); found != young_.end()) return found->second;
  const auto found = old_.find(key);
  if (found == old_.end()) return nullptr;
  auto walk = found->second;
  old_bytes_ -= walk->bytes();
  old_.erase(found);
  add_young(key, walk);
  return walk;
}

void WalkCache::add(const WalkKey& key, std::shared_ptr<const TerminalWalk> walk) {
  const std::lock_guard lock(mutex_);
  if (walk->bytes() <= bytes_max_ / 2 && !young_.contains(key)) add_young(key, std::move(walk));
}

void WalkCache::add_young(const WalkKey& key, std::shared_ptr<const TerminalWalk> walk) {
  const std::size_t bytes = walk->bytes();
  if (young_bytes_ + bytes > bytes_max_ / 2) {
    old_ = std::exchange(young_, {});
    old_bytes_ = std::exchange(young_bytes_, 0);
  }
  young_bytes_ += bytes;
  young_.emplace(key, std::move(walk));
}

std::size_t WalkCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return young_bytes_ + old_bytes_;
}

}  // namespace forge::grammar
