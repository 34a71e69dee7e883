#include "latency_log.h"

#include <algorithm>
#include <cmath>

namespace forge::apps {
namespace {

double quantile(std::vector<float>& values, double q) {
  const auto place = values.begin() + std::lround(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

Percentiles percentiles(std::vector<float>& values) {
  if (values.empty()) return {};
  return {.p50 = quantile(values, 0.50), .p95 = quantile(values, 0.95)};
}

void LatencyLog::take(std::size_t request, std::size_t count, double us) {
  Times& times = requests_[request];
  if (times.last_token_us) {
    const double gap = (us - *times.last_token_us) / static_cast<double>(count);
    gaps_us_.insert(gaps_us_.end(), count, static_cast<float>(gap));
    times.tokens_after += count;
  } else {
    first_us_.push_back(static_cast<float>(us - times.arrival_us));
    times.first_token_us = us;
  }
  times.last_token_us = us;
}

Percentiles LatencyLog::time_per_output_token() const {
  std::vector<float> per_token_us;
  for (const Times& times : requests_) {
    if (times.tokens_after == 0) continue;
    const double us = *times.last_token_us - times.first_token_us;
    per_token_us.push_back(static_cast<float>(us / static_cast<double>(times.tokens_after)));
  }
  return percentiles(per_token_us);
}

}  // namespace forge::apps
