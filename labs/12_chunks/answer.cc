// Lab 12: schedules with long prompts; and the competition, in which a policy serves made-up days
// on a virtual clock (src/apps/bench/cluster.h with one replica).
#include <fstream>

#include "cluster.h"
#include "exploration/explorer.h"
#include "exploration/instances.h"
#include "forge/core/names.h"
#include "generated_workload.h"
#include "scheduling.h"

namespace forge::labs {
namespace {

Json plans(const Json& input) { return plans_of(schedule_of(input)); }
Json trace(const Json& input) { return trace_of(schedule_of(input)); }

/// What a policy breaks in some of the small instances of the exploration: those with a budget,
/// deadlines and priorities, with users and pressure, and with several clients.
Json promises(const Json&) {
  for (const testing::Instance& instance : testing::small_instances()) {
    if (!instance.name.starts_with("budget") && !instance.name.starts_with("users") &&
        !instance.name.starts_with("block size 2")) {
      continue;
    }
    if (const auto found = testing::explore(instance).violation) {
      return instance.name + ": " + found->text;
    }
  }
  return nullptr;
}

constexpr std::uint32_t kBlocks = 4096;
constexpr std::uint32_t kBlockSize = 16;

/// The first requests of a recording that fit into the cache, their times stretched so that `rate`
/// come a second.
apps::Workload recorded(const std::string& path, std::size_t requests, double rate) {
  std::ifstream file(path);
  auto workload = apps::read_workload(file, 2 * requests);
  if (!workload) throw std::invalid_argument(path + ": " + workload.error());
  std::erase_if(*workload, [](const apps::WorkloadItem& item) {
    return item.prompt_tokens + item.new_tokens > kBlocks * kBlockSize;
  });
  if (workload->size() > requests) workload->resize(requests);
  if (workload->size() < 2 || workload->back().arrival_us == 0) {
    throw std::invalid_argument(path + ": has no two requests that fit, one after the other");
  }
  const double wanted_us = static_cast<double>(workload->size()) / rate * 1e6;
  const double stretch = wanted_us / static_cast<double>(workload->back().arrival_us);
  for (apps::WorkloadItem& item : *workload) {
    item.arrival_us = static_cast<std::uint64_t>(static_cast<double>(item.arrival_us) * stretch);
  }
  return std::move(*workload);
}

/// {"kind": "chat", "rate": 4.0, "requests": 1500}, or {"recorded": "FILE", ...}.
apps::Workload workload_of(const Json& input) {
  const std::size_t requests = input.at("requests");
  const double rate = input.at("rate");
  if (input.contains("recorded")) return recorded(input.at("recorded"), requests, rate);
  const auto kind = from_name<apps::WorkloadKind>(input.at("kind").get<std::string>());
  return apps::generate_workload({.kind = kind.value(), .requests = requests, .rate = rate});
}

/// The chunk of a prompt is the policy's own affair: the configuration allows the whole batch.
/// A workload -> whether 95% of the first tokens come within two seconds and 95% of the next ones
/// within 50 ms, and how it went.
Json serve(const Json& input) {
  const apps::ClusterResult result =
      apps::run_cluster({.workload = workload_of(input),
                         .config = {.cache = {.num_blocks = kBlocks, .block_size = kBlockSize},
                                    .batch = {.max_batch_size = 128, .max_batch_tokens = 2048},
                                    .prefill_chunk_size = 2048}});
  const bool sustained = result.ttft_us.p95 <= 2e6 && result.itl_us.p95 <= 50e3;
  return {{"sustained", sustained},
          {"ttft_p95_ms", static_cast<std::uint64_t>(result.ttft_us.p95 / 1000)},
          {"itl_p95_ms", static_cast<std::uint64_t>(result.itl_us.p95 / 1000)},
          {"hit_percent", static_cast<std::uint64_t>(result.prefix_hit_rate() * 100)},
          {"preempted", result.preemptions},
          {"digest", result.digest}};
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"prompt_budget", plans}, {"prompt_chunk", plans}, {"blocks_kept_free", plans},
          {"trace", trace},         {"promises", promises},  {"serve", serve}};
}

}  // namespace forge::labs
