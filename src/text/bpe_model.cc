#include "bpe_model.h"

namespace forge::text::detail {
namespace {

struct BpeScratch final : PieceModel::Scratch {
  std::vector<std::uint32_t> symbols;
};

}  // namespace

std::unique_ptr<PieceModel::Scratch> BpeModel::make_scratch(std::size_t) const {
  return std::make_unique<BpeScratch>();
}

std::optional<unsigned char> BpeModel::append_tokens(std::string_view piece, Scratch& scratch,
                                                     std::vector<TokenId>& tokens) const {
  if (!whole_pieces.empty()) {
    const auto found = whole_pieces.find(piece);
    if (found != whole_pieces.end()) {
      tokens.emplace_back(found->second);
      return std::nullopt;
    }
  }
  auto& symbols = static_cast<BpeScratch&>(scratch).symbols;
  symbols.clear();
  if (const auto missing = alphabet.append_symbols(piece, symbols)) return missing;
  merges.apply(symbols);
  for (const std::uint32_t symbol : symbols) tokens.emplace_back(symbol);
  return std::nullopt;
}

}  // namespace forge::text::detail
