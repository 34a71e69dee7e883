// DraftWatch: how many drafts were kept, and whether that is what was to be expected.
//
// How many drafts a model keeps is a property of model, drafter and text. A server whose acceptance
// falls has other requests than before, or a drafter that no longer fits its model; one that keeps
// each draft of a model may run that model against itself. Neither is an error and no answer is
// wrong, so it is told and nobody is turned away.
//
// Thread contract: a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace forge::engine {

struct DraftCounts {
  std::uint64_t proposed = 0;  ///< drafts verified
  std::uint64_t accepted = 0;  ///< those that were kept

  /// Of a step that verified `drafts` and yielded `tokens`: the last one was the model's own.
  void add(std::uint32_t drafts, std::uint32_t tokens);

  friend bool operator==(const DraftCounts&, const DraftCounts&) = default;
};

/// Percentages of drafts kept that are as expected, both included; low <= high <= 100.
struct AcceptanceBand {
  std::uint32_t low = 0;
  std::uint32_t high = 100;

  friend bool operator==(const AcceptanceBand&, const AcceptanceBand&) = default;
};

/// Of "20-95". Errors: what is accepted.
tl::expected<AcceptanceBand, std::string> parse_band(std::string_view text);

/// "12% of 1000 drafts were kept, expected are 20% to 95%"; nothing where the share is in the band,
/// or there are no drafts.
std::optional<std::string> outside(const AcceptanceBand& band, const DraftCounts& counts);

class DraftWatch {
 public:
  static constexpr std::uint64_t kWindow = 1000;  ///< drafts that are judged together

  explicit DraftWatch(AcceptanceBand band) : band_(band) {}

  /// True if the alarm has become another one: at the end of a window.
  bool add(std::uint32_t drafts, std::uint32_t tokens);

  const DraftCounts& counts() const { return counts_; }
  /// Of the last whole window.
  const std::optional<std::string>& alarm() const { return alarm_; }

 private:
  AcceptanceBand band_;
  DraftCounts counts_;
  DraftCounts window_;
  std::optional<std::string> alarm_;
};

}  // namespace forge::engine
