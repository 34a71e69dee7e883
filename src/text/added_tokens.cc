#include "added_tokens.h"

#include "forge/core/check.h"
#include "utf8_text.h"

namespace forge::text::detail {

AddedTokens::AddedTokens() : nodes_(1) {}

std::uint32_t AddedTokens::child(std::uint32_t node, char byte) const {
  if (node == 0) return first_[static_cast<unsigned char>(byte)];
  std::uint32_t at = nodes_[node].first_child;
  while (at != 0 && nodes_[at].byte != byte) at = nodes_[at].sibling;
  return at;
}

bool AddedTokens::add(std::string_view spelling, const AddedToken& token) {
  FORGE_CHECK(!spelling.empty(), "an added token has no spelling");
  std::uint32_t node = 0;
  for (const char byte : spelling) {
    std::uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({.byte = byte,
                        .first_child = 0,
                        .sibling = node == 0 ? 0 : nodes_[node].first_child,
                        .token = std::nullopt});
      if (node == 0) {
        first_[static_cast<unsigned char>(byte)] = next;
      } else {
        nodes_[node].first_child = next;
      }
    }
    node = next;
  }
  if (nodes_[node].token) return false;
  nodes_[node].token = token;
  take_space_ = take_space_ || token.takes_space_before || token.takes_space_after;
  return true;
}

AddedTokens::Found AddedTokens::longest_at(std::string_view text, bool control_tokens) const {
  Found found;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = child(node, text[i]);
    if (node == 0) break;
    const auto& token = nodes_[node].token;
    if (token && (control_tokens || !token->control)) found = {&*token, i + 1};
  }
  return found;
}

std::vector<TextPart> AddedTokens::split(std::string_view text, bool control_tokens) const {
  std::vector<TextPart> parts;
  const auto add_text = [&](std::size_t begin, std::size_t end) {
    if (end > begin) parts.push_back({text.substr(begin, end - begin), std::nullopt});
  };
  std::size_t done = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Found found = longest_at(text.substr(at), control_tokens);
    if (found.token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    if (found.token->takes_space_before) begin -= trailing_space(text.substr(done, at - done));
    at += found.bytes;
    if (found.token->takes_space_after) at += leading_space(text.substr(at));
    add_text(done, begin);
    parts.push_back({text.substr(begin, at - begin), found.token->token});
    done = at;
  }
  add_text(done, text.size());
  return parts;
}

}  // namespace forge::text::detail
