#include "policy_report.h"

#include <iomanip>
#include <ostream>

#include "bench_report.h"
#include "forge/trace/trace_json.h"

namespace forge::apps {
namespace {

std::string count(std::uint64_t number) { return std::to_string(number); }

std::uint64_t of(const PolicyResult& r, PreemptionMode mode) {
  return r.preemptions[static_cast<std::size_t>(mode)];
}

std::uint32_t of(const PolicyResult& r, Priority priority) {
  return r.overtaken_max[static_cast<std::size_t>(priority)];
}

void line(std::ostream& out, const char* subject, const std::string& text) {
  out << std::left << std::setw(14) << subject << text << '\n';
}

}  // namespace

void print(const PolicyResult& r, std::ostream& out) {
  const PrefixCacheStatistics& cache = r.prefix_cache;
  line(out, "requests",
       count(r.finished) + " finished, " + count(r.refused) + " refused" +
           (r.interrupted ? "; interrupted" : ""));
  line(out, "tokens",
       count(r.prompt_tokens) + " of prompts, " + count(r.generated_tokens) + " generated, " +
           count(r.scheduled_tokens) + " run");
  line(out, "steps",
       count(r.steps) + ", with " + count(r.scheduled_sequences) + " scheduled sequences");
  line(out, "preemptions",
       count(r.preempted()) + " (" + count(of(r, PreemptionMode::recompute)) + " recompute, " +
           count(of(r, PreemptionMode::swap)) + " swap)");
  line(out, "prefix cache",
       fixed(100 * r.prefix_hit_rate(), 2) + "% of prompt tokens hit (" + count(cache.hit_tokens) +
           " of " + count(cache.query_tokens) + "), " + count(cache.recovered_tokens) +
           " recovered on resume, " + count(cache.evictions) + " evictions");
  line(out, "overtaken",
       "at most " + count(of(r, Priority::low)) + " times at low priority, " +
           count(of(r, Priority::normal)) + " at normal, " + count(of(r, Priority::high)) +
           " at high");
  line(out, "policy",
       fixed(r.ns_per_scheduled_sequence(), 1) + " ns per scheduled sequence (" +
           fixed(r.policy_seconds, 3) + " s in schedule() and commit(), less " +
           fixed(2 * r.clock_read_ns, 0) + " ns a step for reading the clock)");
  line(out, "whole run",
       fixed(r.requests_per_second(), 0) + " requests/s (" + fixed(r.cpu_seconds, 2) +
           " s of CPU time, " + fixed(r.seconds, 2) + " s, " + fixed(r.virtual_seconds, 2) +
           " s on the virtual clock)");
  line(out, "digest", trace::digest_text(r.digest));
}

nlohmann::json to_json(const PolicyResult& r) {
  return {{"target", "null"},
          {"requests", r.finished},
          {"refused", r.refused},
          {"prompt_tokens", r.prompt_tokens},
          {"generated_tokens", r.generated_tokens},
          {"steps", r.steps},
          {"scheduled_sequences", r.scheduled_sequences},
          {"scheduled_tokens", r.scheduled_tokens},
          {"preemptions", r.preempted()},
          {"preemptions_recompute", of(r, PreemptionMode::recompute)},
          {"preemptions_swap", of(r, PreemptionMode::swap)},
          {"prefix_cache", to_json(r.prefix_cache)},
          {"overtaken_max",
           {{"low", of(r, Priority::low)},
            {"normal", of(r, Priority::normal)},
            {"high", of(r, Priority::high)}}},
          {"ns_per_scheduled_sequence", r.ns_per_scheduled_sequence()},
          {"policy_seconds", r.policy_seconds},
          {"clock_read_ns", r.clock_read_ns},
          {"requests_per_second", r.requests_per_second()},
          {"cpu_seconds", r.cpu_seconds},
          {"seconds", r.seconds},
          {"virtual_seconds", r.virtual_seconds},
          {"digest", trace::digest_text(r.digest)},
          {"interrupted", r.interrupted}};
}

}  // namespace forge::apps
