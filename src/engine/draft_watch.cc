#include "forge/engine/draft_watch.h"

#include <charconv>

namespace forge::engine {
namespace {

/// The number that `text` is, up to 100.
std::optional<std::uint32_t> percentage(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > 100) return std::nullopt;
  return value;
}

}  // namespace

void DraftCounts::add(std::uint32_t drafts, std::uint32_t tokens) {
  proposed += drafts;
  if (drafts > 0 && tokens > 0) accepted += tokens - 1;
}

tl::expected<AcceptanceBand, std::string> parse_band(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto low = percentage(text.substr(0, dash));
    const auto high = percentage(text.substr(dash + 1));
    if (low && high && *low <= *high) return AcceptanceBand{*low, *high};
  }
  return tl::unexpected("'" + std::string(text) +
                        "', accepted: LOW-HIGH, two percentages in order, such as 20-95");
}

std::optional<std::string> outside(const AcceptanceBand& band, const DraftCounts& counts) {
  const std::uint64_t share = counts.accepted * 100;
  if (share >= band.low * counts.proposed && share <= band.high * counts.proposed) {
    return std::nullopt;
  }
  return std::to_string(share / counts.proposed) + "% of " + std::to_string(counts.proposed) +
         " drafts were kept, expected are " + std::to_string(band.low) + "% to " +
         std::to_string(band.high) + "%";
}

bool DraftWatch::add(std::uint32_t drafts, std::uint32_t tokens) {
  counts_.add(drafts, tokens);
  window_.add(drafts, tokens);
  if (window_.proposed < kWindow) return false;
  std::optional<std::string> found = outside(band_, window_);
  window_ = {};
  const bool changed = found.has_value() != alarm_.has_value();
  alarm_ = std::move(found);
  return changed;
}

}  // namespace forge::engine
