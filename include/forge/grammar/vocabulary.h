// Vocabulary: the tokens of a tokenizer by their bytes, made once and shared by all sequences.
//
// Example, given `const std::vector<std::string_view>& bytes_of_all_tokens`:
//
//   const Vocabulary vocabulary({.tokens = bytes_of_all_tokens, .eos = {2}});
//
// Tokens stand in a trie, so that those which begin alike are tried together, and are tried no
// further where their beginning does not fit. Most tokens of a vocabulary are plain text, which a
// free string takes without looking: they are kept apart, by how many characters they have, as
// masks that are ready (of up to n characters, for each n), and what is left for such a string to
// try is a second, small trie.
//
// It also remembers, in a cache of at most kCacheBytes, what walks over it have found. Results are
// a function of grammar and text alone, whatever the cache holds.
//
// Thread contract: any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace forge::grammar {

struct VocabularyTokens {
  /// The bytes of each token, in the order of ids; empty for those that stand for no text (control
  /// tokens), which no grammar allows. They need not live on.
  std::vector<std::string_view> tokens;
  /// Tokens that end a text.
  std::vector<std::uint32_t> eos;
};

class Vocabulary {
 public:
  static constexpr std::size_t kCacheBytes = std::size_t{64} << 20;

  explicit Vocabulary(const VocabularyTokens& tokens, std::size_t cache_bytes = kCacheBytes);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  ~Vocabulary();

  /// Tokens are below this number.
  std::size_t size() const { return size_; }
  /// Words of a mask: a bit for each token, the lowest bit of a word first.
  std::size_t mask_words() const { return (size_ + 31) / 32; }
  /// The bytes of a token; empty for those that stand for none, and for ids that are none.
  std::string_view bytes_of(std::uint32_t token) const;
  bool is_eos(std::uint32_t token) const;
  /// The most bytes that a token has.
  std::size_t token_bytes_max() const;
  std::size_t cached_bytes() const;

  struct Index;  // for walks
  const Index& index() const { return *index_; }

 private:
  std::size_t size_;
  std::unique_ptr<const Index> index_;
};

}  // namespace forge::grammar
