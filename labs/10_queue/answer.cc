// The rules by which requests wait, asked about small queues.
#include <algorithm>
#include <stdexcept>

#include "answering.h"
#include "forge/core/policy.h"

namespace forge::labs {
namespace {

std::uint32_t number(const Json& input, const char* name, IntegerRange range) {
  const auto value = input.at(name).get<std::int64_t>();
  if (!range.contains(value)) throw std::invalid_argument(name);
  return static_cast<std::uint32_t>(value);
}

SeqId id_of(const Json& input) {
  const SeqId seq{input.at("id").get<std::uint64_t>()};
  if (seq.value == 0) throw std::invalid_argument("ids begin at 1");
  return seq;
}

SchedulerConfig with_head_start(const Json& input) {
  SchedulerConfig config;
  config.priority_head_start = number(input, "head_start", SchedulerConfig::kPriorityHeadStart);
  return config;
}

/// {"head_start": 4, "requests": [{"id": 1, "levels_below_high": 2, "preemptions": 0}, ...]} -> the
/// place of each, and who goes before whom.
Json places(const Json& input) {
  const SchedulerConfig config = with_head_start(input);
  Json lines = Json::array();
  std::vector<AdmissionKey> keys;
  for (const Json& each : input.at("requests")) {
    SequenceView view{.seq = id_of(each)};
    view.priority = static_cast<Priority>(2 - number(each, "levels_below_high", {0, 2}));
    view.preemptions = number(each, "preemptions", {0, 9});
    view.prompt_tokens = 1 + view.preemptions;
    const AdmissionKey key = keys.emplace_back(admission_key(view, config));
    lines.push_back("request " + std::to_string(view.seq.value) + ": place " +
                    std::to_string(key.place) + ", ties by " + std::to_string(key.seq.value));
  }
  std::ranges::sort(keys);
  std::string order = "in order:";
  for (const AdmissionKey& key : keys) order += " " + std::to_string(key.seq.value);
  lines.push_back(order);
  return lines;
}

/// {"head_start": 4} -> the bound for each priority.
Json bounds(const Json& input) {
  const SchedulerConfig config = with_head_start(input);
  Json lines = Json::array();
  for (const Priority priority : {Priority::high, Priority::normal, Priority::low}) {
    lines.push_back(std::string(name_of(priority)) + ": overtaken at most " +
                    std::to_string(overtakers_max(priority, config)) + " times");
  }
  return lines;
}

/// {"tokens": 7, "weight": 3} -> what they count.
Json served(const Json& input) {
  const std::uint64_t count = served_by(number(input, "tokens", SchedulerConfig::kAny32),
                                        number(input, "weight", Request::kWeight));
  return Json::array({std::to_string(count) + " thousandths of a token"});
}

Share share_of(const Json& input) {
  return {.served = input.at(0).get<std::uint64_t>(), .turn = input.at(1).get<std::uint64_t>()};
}

/// {"candidates": [{"id": 11, "resumes": 0, "client": [served, turn], "user": [served, turn],
/// "place": 15}, ...]} -> of every two of them, whose turn is before the other's.
Json turns(const Json& input) {
  std::vector<Candidate> candidates;
  for (const Json& each : input.at("candidates")) {
    const Candidate& candidate = candidates.emplace_back(
        Candidate{.resumes = number(each, "resumes", {0, 1}) == 1,
                  .client = share_of(each.at("client")),
                  .user = share_of(each.at("user")),
                  .key = {each.at("place").get<std::uint64_t>(), id_of(each)}});
    for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {
      if (candidates[i].key.seq == candidate.key.seq) throw std::invalid_argument("equal ids");
    }
  }
  Json lines = Json::array();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& a = candidates[i];
    const std::string name = std::to_string(a.key.seq.value);
    if (has_turn_before(a, a)) lines.push_back(name + " is before itself");
    for (std::size_t j = i + 1; j < candidates.size(); ++j) {
      const Candidate& b = candidates[j];
      const std::string other = std::to_string(b.key.seq.value);
      const bool first = has_turn_before(a, b);
      const bool second = has_turn_before(b, a);
      std::string line = name + " and " + other + ": ";
      if (first == second) {
        line += first ? "each is before the other" : "neither is before the other";
      } else {
        line += (first ? name : other) + " is first";
      }
      lines.push_back(line);
    }
  }
  return lines;
}

/// {"running": 2, "blocks": 10, "watermark": 1, "pressure": 85} -> what an admission leaves.
Json kept(const Json& input) {
  SchedulerConfig config;
  config.cache.num_blocks = number(input, "blocks", CacheShape::kNumBlocks);
  config.watermark_blocks = number(input, "watermark", {0, config.cache.num_blocks});
  config.memory_pressure = number(input, "pressure", SchedulerConfig::kMemoryPressure);
  const std::uint32_t blocks = blocks_kept_free(number(input, "running", {0, 64}), config);
  return Json::array({std::to_string(blocks) + " blocks are left"});
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"admission_key", places},
          {"overtakers_max", bounds},
          {"served_by", served},
          {"has_turn_before", turns},
          {"blocks_kept_free", kept}};
}

}  // namespace forge::labs
