// LatencyLog: when the tokens of a run's requests came, on one clock, in microseconds.
//
// Owns a few bytes a token. Thread contract: none of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace forge::apps {

struct Percentiles {
  double p50 = 0;
  double p95 = 0;
};

/// The percentiles by nearest rank; zeros if there are no values. Reorders the values.
Percentiles percentiles(std::vector<float>& values);

class LatencyLog {
 public:
  explicit LatencyLog(std::size_t requests) : requests_(requests) {}

  /// Notes the arrival of a request. Requires: none of its tokens has been noted.
  void arrive(std::size_t request, double us) { requests_[request].arrival_us = us; }

  /// Notes `count` tokens of one step. Requires: count at least 1.
  void take(std::size_t request, std::size_t count, double us);

  /// TTFT, from the arrival to the step with the first token.
  Percentiles time_to_first_token() { return percentiles(first_us_); }

  /// ITL, between consecutive tokens of a request. m tokens of one step, after a gap of g, count as
  /// m gaps of g / m; the tokens of the step with the first token count as none.
  Percentiles inter_token_latency() { return percentiles(gaps_us_); }

  /// TPOT, of each request: from the step with its first token to that with its last, for each
  /// token after those of the first step. A request without such tokens has none.
  Percentiles time_per_output_token() const;

 private:
  struct Times {
    double arrival_us = 0;
    double first_token_us = 0;
    std::optional<double> last_token_us;
    std::size_t tokens_after = 0;  ///< the first step with some
  };

  std::vector<Times> requests_;
  std::vector<float> first_us_;
  std::vector<float> gaps_us_;
};

}  // namespace forge::apps
