#include "unigram_model.h"

#include <limits>
#include <span>
#include <string_view>

#include "utf8_text.h"

namespace forge::text::detail {
namespace {

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNowhere = kUnknown;

/// The best way to a place in a piece: its last token, and where that begins.
template <class Score>
struct Way {
  Score score = 0;
  std::uint32_t begin = kNowhere;
  std::uint32_t token = kUnknown;
};

struct LastToken {
  std::uint32_t token;
  std::uint32_t begin;
};

template <class Score>
struct UnigramScratch final : PieceModel::Scratch {
  std::vector<Way<Score>> ways;
  std::vector<LastToken> last;
};

}  // namespace

template <class Score>
struct UnigramModel::Search {
  const UnigramModel& model;
  std::string_view piece;
  std::vector<Way<Score>>& ways;  ///< [bytes + 1]

  void offer(std::size_t begin, std::size_t end, std::uint32_t token, double sum) {
    Way<Score>& way = ways[end];
    if (way.begin != kNowhere && sum <= way.score) return;
    way = {static_cast<Score>(sum), static_cast<std::uint32_t>(begin), token};
  }

  void run() {
    const auto unknown_score = static_cast<Score>(model.options_.unknown_score);
    std::size_t next = 0;
    for (std::size_t at = 0; at < piece.size(); at = next) {
      next = at + character_bytes(piece[at]);
      bool character_is_token = false;
      ByteTrie::Node node = ByteTrie::kRoot;
      for (std::size_t end = at; end < piece.size();) {
        node = model.trie_.after(node, static_cast<unsigned char>(piece[end++]));
        if (node == ByteTrie::kRoot) break;
        if (const auto token = model.trie_.value(node)) {
          offer(at, end, *token, ways[at].score + model.options_.scores[*token]);
          character_is_token = character_is_token || end == next;
        }
      }
      if (!character_is_token) offer(at, next, kUnknown, ways[at].score + unknown_score);
    }
  }
};

std::unique_ptr<PieceModel::Scratch> UnigramModel::make_scratch(std::size_t) const {
  if (options_.float_sums) return std::make_unique<UnigramScratch<float>>();
  return std::make_unique<UnigramScratch<double>>();
}

std::optional<unsigned char> UnigramModel::append_unknown(std::string_view text, bool after_unknown,
                                                          std::vector<TokenId>& tokens) const {
  if (options_.bytes) {
    for (const char c : text) {
      tokens.emplace_back((*options_.bytes)[static_cast<unsigned char>(c)]);
    }
    return std::nullopt;
  }
  if (!options_.unknown) return static_cast<unsigned char>(text[0]);
  if (!(after_unknown && options_.fuse_unknown)) tokens.emplace_back(*options_.unknown);
  return std::nullopt;
}

std::optional<unsigned char> UnigramModel::append_tokens(std::string_view piece, Scratch& scratch,
                                                         std::vector<TokenId>& tokens) const {
  const auto find_best = [&]<class Score>(UnigramScratch<Score>& own) {
    own.ways.assign(piece.size() + 1, {});
    Search<Score>{*this, piece, own.ways}.run();
    own.last.clear();
    for (std::size_t end = piece.size(); end > 0; end = own.ways[end].begin) {
      own.last.push_back({own.ways[end].token, own.ways[end].begin});
    }
    return std::span<const LastToken>(own.last);
  };
  const auto last = options_.float_sums ? find_best(static_cast<UnigramScratch<float>&>(scratch))
                                        : find_best(static_cast<UnigramScratch<double>&>(scratch));
  bool after_unknown = false;
  for (std::size_t i = last.size(); i-- > 0;) {
    const std::size_t end = i == 0 ? piece.size() : last[i - 1].begin;
    const bool known = last[i].token != kUnknown;
    if (known) {
      tokens.emplace_back(last[i].token);
    } else {
      const std::string_view text = piece.substr(last[i].begin, end - last[i].begin);
      if (const auto missing = append_unknown(text, after_unknown, tokens)) return missing;
    }
    after_unknown = !known;
  }
  return std::nullopt;
}

}  // namespace forge::text::detail
