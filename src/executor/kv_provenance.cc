#include "forge/executor/kv_provenance.h"

#include <algorithm>

#include "forge/core/check.h"
#include "forge/executor/logits_digest.h"

namespace forge::executor {
namespace {

/// Walks the tokens of a pass with the hash of those walked so far.
class PrefixWalk {
 public:
  explicit PrefixWalk(const KvPass& pass) : pass_(pass) {}

  /// The next token; nothing after the last.
  std::optional<KvContent> next() {
    const std::size_t drafts_begin = pass_.known.size();
    if (position_ == drafts_begin + pass_.drafts.size()) return std::nullopt;
    const TokenId token =
        position_ < drafts_begin ? pass_.known[position_] : pass_.drafts[position_ - drafts_begin];
    hash_ = digest_step(hash_, token.value);
    return KvContent{token, position_++, hash_};
  }

 private:
  const KvPass& pass_;
  std::uint32_t position_ = 0;
  std::uint64_t hash_ = 0x9e3779b97f4a7c15u;  // of no tokens
};

std::string to_string(const KvContent& content) {
  return "token " + std::to_string(content.token.value) + " at position " +
         std::to_string(content.position) + " with prefix hash " +
         std::to_string(content.prefix_hash);
}

}  // namespace

std::string to_string(const KvViolation& violation) {
  const std::string step = std::to_string(violation.step.value);
  std::string text = "step " + step + ", sequence " + std::to_string(violation.seq.value) +
                     ": slot " + std::to_string(violation.slot) + " of block " +
                     std::to_string(violation.block) + ": expected " +
                     to_string(violation.expected) + ", written " +
                     (violation.earlier ? "before" : "by") + " step " + step + "; found ";
  if (!violation.found) return text + "nothing";
  return text + to_string(violation.found->content) + ", " +
         std::to_string(violation.found->layers) + " layers written by step " +
         std::to_string(violation.found->step.value);
}

KvProvenance::KvProvenance(std::uint32_t num_blocks, std::uint32_t num_host_blocks,
                           std::uint32_t block_size, int layers)
    : block_size_(block_size),
      layers_(layers),
      device_(std::size_t{num_blocks} * block_size),
      host_(std::size_t{num_host_blocks} * block_size) {
  FORGE_CHECK(block_size >= 1, "block_size=", block_size);
}

void KvProvenance::copy(const BlockCopy& copy) {
  const Slots& source = copy.kind == CopyKind::swap_in ? host_ : device_;
  Slots& destination = copy.kind == CopyKind::swap_out ? host_ : device_;
  const std::size_t from = std::size_t{copy.from.value} * block_size_;
  const std::size_t to = std::size_t{copy.to.value} * block_size_;
  FORGE_CHECK(from < source.size() && to < destination.size(), "from=", copy.from.value,
              " to=", copy.to.value);
  std::copy_n(source.data() + from, block_size_, destination.data() + to);
}

tl::expected<void, KvViolation> KvProvenance::run(StepId step, int layers,
                                                  std::span<const KvPass> passes) {
  for (const KvPass& pass : passes) write(step, layers, pass);
  for (const KvPass& pass : passes) {
    if (auto checked = check(step, layers, pass); !checked) return checked;
  }
  return {};
}

void KvProvenance::forget_destination(const BlockCopy& copy) {
  Slots& destination = copy.kind == CopyKind::swap_out ? host_ : device_;
  std::fill_n(destination.data() + std::size_t{copy.to.value} * block_size_, block_size_,
              std::nullopt);
}

void KvProvenance::forget(const KvPass& pass) {
  const std::size_t end = pass.known.size() + pass.drafts.size();
  for (std::uint32_t position = pass.first; position < end; ++position) {
    device_[slot_of(pass, position)] = std::nullopt;
  }
}

void KvProvenance::forget_all() {
  std::ranges::fill(device_, std::nullopt);
  std::ranges::fill(host_, std::nullopt);
}

std::size_t KvProvenance::slot_of(const KvPass& pass, std::uint32_t position) const {
  return std::size_t{pass.blocks[position / block_size_]} * block_size_ + position % block_size_;
}

void KvProvenance::write(StepId step, int layers, const KvPass& pass) {
  PrefixWalk walk(pass);
  while (const auto content = walk.next()) {
    if (content->position < pass.first) continue;
    device_[slot_of(pass, content->position)] = KvWrite{*content, step, layers};
  }
}

tl::expected<void, KvViolation> KvProvenance::check(StepId step, int layers,
                                                    const KvPass& pass) const {
  PrefixWalk walk(pass);
  while (const auto content = walk.next()) {
    const std::size_t slot = slot_of(pass, content->position);
    const std::optional<KvWrite>& found = device_[slot];
    const bool earlier = content->position < pass.computed;
    const bool good =
        found && found->content == *content &&
        (earlier ? (found->step != step || pass.catches_up) && found->layers == layers_
                 : found->step == step && found->layers >= layers);
    if (good) continue;
    return tl::unexpected(
        KvViolation{pass.seq, step, static_cast<std::uint32_t>(slot / block_size_),
                    static_cast<std::uint32_t>(slot % block_size_), *content, earlier, found});
  }
  return {};
}

}  // namespace forge::executor
