#include "forge/grammar/output_matcher.h"

#include <algorithm>
#include <utility>

#include "vocabulary_index.h"

namespace forge::grammar {
namespace {

/// How many bytes of `mark` a text ends with that ended with `before` of them, and then has `next`.
std::size_t mark_bytes_after(std::string_view mark, std::size_t before, char next) {
  std::string end(mark.substr(0, before));
  end += next;
  for (std::size_t bytes = std::min(end.size(), mark.size()); bytes > 0; --bytes) {
    if (end.ends_with(mark.substr(0, bytes))) return bytes;
  }
  return 0;
}

/// The tokens that end a text, and no others.
Matched fill_ends(const Vocabulary& vocabulary, std::span<std::uint32_t> mask) {
  std::ranges::fill(mask, 0);
  bool any = false;
  for (const std::uint32_t token : vocabulary.index().eos) {
    if (token >= vocabulary.size()) continue;
    mask[token / 32] |= 1U << token % 32;
    any = true;
  }
  if (any) return {};
  return tl::unexpected(
      MatchError{MatchError::Kind::no_token, 0, "no token of the vocabulary ends the text"});
}

}  // namespace

OutputMatcher::OutputMatcher(OutputCompiler::Compiled output) : output_(std::move(output)) {
  if (output_->after.empty()) part_.emplace(output_->grammar);
}

bool OutputMatcher::is_over() const {
  return part_ && output_->after.empty() && part_->is_complete();
}

bool OutputMatcher::is_free() const {
  return !failure_ && !part_ && output_->refused[mark_bytes_].empty();
}

Matched OutputMatcher::fill_mask(std::span<std::uint32_t> mask) const {
  if (failure_) return tl::unexpected(*failure_);
  if (is_over()) return fill_ends(*output_->vocabulary, mask);
  if (part_) return part_->fill_mask(*output_->vocabulary, mask);
  std::ranges::fill(mask, ~std::uint32_t{0});
  for (const std::uint32_t token : output_->refused[mark_bytes_]) {
    mask[token / 32] &= ~(1U << token % 32);
  }
  return {};
}

Matched OutputMatcher::accept_token(std::uint32_t token) {
  const Vocabulary& vocabulary = *output_->vocabulary;
  if (is_over() && !vocabulary.is_eos(token)) {
    return tl::unexpected(MatchError{MatchError::Kind::refused, 0, {}});
  }
  Matched read;
  if (part_) {
    read = part_->accept_token(vocabulary, token);
    if (read) end_part();
  } else if (!vocabulary.is_eos(token)) {
    OutputMatcher next = *this;
    read = next.accept_free(vocabulary.bytes_of(token));
    if (read) *this = std::move(next);
  }
  if (!read && read.error().kind == MatchError::Kind::limit) failure_ = read.error();
  return read;
}

/// Where no part is open: one begins behind the mark.
Matched OutputMatcher::accept_free(std::string_view bytes) {
  const std::string_view mark = output_->after;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    mark_bytes_ = mark_bytes_after(mark, mark_bytes_, bytes[i]);
    if (mark_bytes_ < mark.size()) continue;
    mark_bytes_ = 0;
    part_.emplace(output_->grammar);
    Matched read = part_->accept(bytes.substr(i + 1));
    if (read) end_part();
    return read;
  }
  return {};
}

void OutputMatcher::end_part() {
  if (!output_->after.empty() && part_->is_complete()) part_.reset();
}

}  // namespace forge::grammar
