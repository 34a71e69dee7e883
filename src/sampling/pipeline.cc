#include "forge/sampling/pipeline.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "forge/core/check.h"
#include "forge/numerics/vector_ops.h"
#include "forge/sampling/mask.h"
#include "forge/sampling/sampler.h"

namespace forge::sampling {
namespace {

/// The depths of a row in ascending order, as far as they are asked for: the most likely tokens of
/// a large vocabulary are few, and found among those whose s is near 0.
class Ranking {
 public:
  Ranking(std::span<const std::uint32_t> depths, std::vector<std::uint32_t>& ordered,
          std::vector<std::uint32_t>& heap)
      : depths_(depths), ordered_(ordered), heap_(heap) {
    ordered_.clear();
    heap_.clear();
  }

  std::size_t size() const { return depths_.size(); }

  std::uint32_t operator[](std::size_t i) {
    while (ordered_.size() <= i) {
      while (heap_.empty()) add_band();
      std::ranges::pop_heap(heap_, std::greater<>());
      ordered_.push_back(heap_.back());
      heap_.pop_back();
    }
    return ordered_[i];
  }

 private:
  /// The tokens of the next twice as wide range of s.
  void add_band() {
    const float end = begin_ == 0 ? 1 : 2 * begin_;
    const std::uint32_t from = numerics::bits_of(begin_);
    const std::uint32_t to = end < kWidest ? numerics::bits_of(end) : kDepthNever + 1;
    for (const std::uint32_t depth : depths_) {
      if (from <= depth && depth < to) heap_.push_back(depth);
    }
    std::ranges::make_heap(heap_, std::greater<>());
    begin_ = end;
  }

  static constexpr float kWidest = 100;  // beyond it nobody looks for tokens one by one

  std::span<const std::uint32_t> depths_;
  std::vector<std::uint32_t>& ordered_;
  std::vector<std::uint32_t>& heap_;
  float begin_ = 0;
};

/// The smallest depth whose tokens have at least `wanted` of the mass; the last one if all have
/// less.
std::uint32_t depth_with_mass(Ranking& ranking, std::uint64_t wanted) {
  std::uint64_t mass = 0;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const std::uint32_t depth = ranking[i];
    mass += mass_at(depth);
    if (mass >= wanted) return depth;
  }
  return kDepthMax;
}

}  // namespace

Filter filter_of(const SamplingParams& params) {
  return {params.temperature, params.top_k, params.top_p, params.min_p};
}

std::span<const float> Pipeline::process(std::span<const float> logits,
                                         const SamplingParams& params, const Adjustments& said,
                                         std::span<const TokenId> drafts,
                                         std::span<const std::uint32_t> mask) {
  if (!processes(params) && mask.empty()) return logits;
  row_.assign(logits.begin(), logits.end());
  if (adjusts(params)) adjust(params, said, drafts);
  if (!mask.empty()) rule_out(mask);
  if (const Filter kept = filter_of(params); kept.any() && can_pick(row_)) filter(kept);
  return row_;
}

void Pipeline::adjust(const SamplingParams& params, const Adjustments& said,
                      std::span<const TokenId> drafts) {
  const Adjustments* all = &said;
  if (!drafts.empty()) {
    with_drafts_ = said;
    for (const TokenId draft : drafts) with_drafts_.add(draft);
    all = &with_drafts_;
  }
  const Penalties penalties = penalties_of(params);
  for (const Adjustment& each : all->list()) {
    if (each.token < row_.size()) row_[each.token] = adjusted(row_[each.token], each, penalties);
  }
}

void Pipeline::rule_out(std::span<const std::uint32_t> mask) {
  FORGE_CHECK(mask.size() == mask_words(static_cast<std::uint32_t>(row_.size())),
              "words of the mask=", mask.size(), " logits=", row_.size());
  for (std::uint32_t token = 0; token < row_.size(); ++token) {
    row_[token] = masked(row_[token], token, mask[token / 32]);
  }
}

void Pipeline::filter(const Filter& filter) {
  const auto size = static_cast<int>(row_.size());
  const float max = numerics::max(row_.data(), size);
  depths_.resize(row_.size());
  for (std::size_t i = 0; i < row_.size(); ++i) {
    depths_[i] = depth_of(row_[i], max, filter.temperature);
  }
  Ranking ranking(depths_, ordered_, heap_);

  std::uint32_t limit = kDepthMax;
  if (filter.top_k > 0 && filter.top_k < ranking.size()) {
    limit = std::min(ranking[filter.top_k - 1], kDepthMax);
  }
  if (filter.top_p < 1.0F) {
    const std::uint64_t wanted = mass_wanted(filter.top_p, mass_up_to(limit));
    limit = std::min(limit, depth_with_mass(ranking, wanted));
  }
  limit = std::min(limit, depth_never_likely(filter.min_p));
  for (std::size_t i = 0; i < row_.size(); ++i) {
    if (depths_[i] > limit || !is_likely(depths_[i], filter.min_p)) row_[i] = -INFINITY;
  }
}

std::uint64_t Pipeline::mass_up_to(std::uint32_t limit) {
  weights_.resize(depths_.size());
  for (std::size_t i = 0; i < depths_.size(); ++i) {
    weights_[i] = depths_[i] <= limit ? -numerics::float_of(depths_[i]) : -INFINITY;
  }
  numerics::exp_minus(weights_.data(), 0.0F, static_cast<int>(weights_.size()), weights_.data());
  std::uint64_t mass = 0;
  for (const float weight : weights_) mass += mass_of(weight);
  return mass;
}

}  // namespace forge::sampling
