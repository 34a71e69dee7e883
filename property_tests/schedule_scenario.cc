#include "schedule_scenario.h"

#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "executor/byte_grammars.h"
#include "forge/core/invariants.h"
#include "forge/text/byte_tokenizer.h"
#include "losable_target.h"
#include "never_failing_cpu.h"
#include "random_grammar.h"

namespace forge::testing {
namespace {

constexpr std::uint32_t kLongest = 80;  // tokens of a request, output included

/// A TokenReport without where it is in its step.
struct Told {
  std::uint32_t position = 0;
  TokenId token;
  float logprob = 0;
  float margin = 0;
  std::vector<TokenLogprob> likely;

  friend bool operator==(const Told&, const Told&) = default;
};

struct Output {
  std::vector<TokenId> tokens;
  std::vector<std::uint64_t> logits;
  std::vector<Told> told;
  FinishReason finish = FinishReason::none;

  bool ended_early() const {
    return finish == FinishReason::cancelled || finish == FinishReason::deadline ||
           finish == FinishReason::error;
  }
  friend bool operator==(const Output&, const Output&) = default;
};

std::ostream& operator<<(std::ostream& out, const Output& output) {
  for (std::size_t i = 0; i < output.tokens.size(); ++i) {
    out << output.tokens[i].value << '/' << std::hex << output.logits[i] << std::dec << ' ';
  }
  return out << "finish " << static_cast<int>(output.finish);
}

/// An engine whose outputs are collected by sequence.
class Run {
 public:
  Run(const MakeFallible& make, const SchedulerConfig& config, executor::ExecutorOptions options)
      : target_(make(adapted(options, config))),
        engine_(config, target_, nullptr, engine::OnTargetLost::reopen) {}

  SeqId submit(const Request& request) {
    const auto seq = engine_.submit(request);
    RC_ASSERT(seq.has_value());
    if (request.session) in_session_.push_back(*seq);
    if (request.sampling.grammar) bound_.push_back(*seq);
    return *seq;
  }

  void step() {
    const auto [plan, result] = engine_.step();
    ways_.add(plan, result);
    const auto is_bound = [&](SeqId seq) { return std::ranges::count(bound_, seq) > 0; };
    for (const Finish& finish : plan.finished) {
      outputs_[finish.seq].finish = finish.reason;
      ways_.completed += finish.reason == FinishReason::eos && is_bound(finish.seq) ? 1 : 0;
    }
    for (const Slice& slice : plan.slices) {
      if (slice.drafts > 0 && is_bound(slice.seq)) ways_.bound_drafts += slice.drafts;
    }
    for (const Admission& admission : plan.admitted) {
      const bool hit = admission.cached_tokens > 0;
      ways_.session_hits += hit && std::ranges::count(in_session_, admission.seq) > 0 ? 1 : 0;
    }
    for (const SliceResult& slice : result.slices) {
      Output& output = outputs_[slice.seq];
      for (std::uint32_t i = slice.first_token; i < slice.first_token + slice.token_count; ++i) {
        output.tokens.push_back(result.tokens[i]);
        output.logits.push_back(result.logits[i]);
      }
    }
    for (const TokenReport& report : result.reports) {
      const auto likely = result.likely_of(report);
      outputs_[report.seq].told.push_back({report.position,
                                           report.token,
                                           report.logprob,
                                           report.margin,
                                           {likely.begin(), likely.end()}});
    }
    const auto violation = check_invariants(engine_.scheduler());
    if (violation) RC_FAIL(*violation);
  }

  engine::Engine& engine() { return engine_; }
  void fail_soon() { target_.fail_soon(); }
  void lose_soon() { target_.lose_soon(); }
  const Output& output(SeqId seq) { return outputs_[seq]; }
  Ways ways() const {
    Ways ways = ways_;
    const PrefixCacheStatistics cache = engine_.scheduler().prefix_cache_statistics();
    ways.hit_tokens = cache.hit_tokens;
    ways.recovered_tokens = cache.recovered_tokens;
    ways.evictions = cache.evictions;
    ways.accepted_drafts = target_.speculation().accepted;
    return ways;
  }

 private:
  static executor::ExecutorOptions adapted(executor::ExecutorOptions options,
                                           const SchedulerConfig& config) {
    options.cache = config.cache;
    options.batch = config.batch;
    options.digest_logits = true;
    options.check_kv = true;
    static const auto kGrammars = byte_grammars();
    options.grammars = kGrammars;
    return options;
  }

  LosableTarget target_;
  engine::Engine engine_;
  std::map<SeqId, Output> outputs_;
  std::vector<SeqId> in_session_;
  std::vector<SeqId> bound_;  // by a grammar
  Ways ways_;
};

/// The request alone, with KV of that type.
Output alone(const MakeFallible& make, Request request, numerics::KvType kv_type) {
  request.prefix_cache = PrefixCacheUse::disable;
  request.session.reset();
  request.deadline_steps = 0;
  Run run(make,
          {.cache = {.num_blocks = 7, .block_size = 16},
           .batch = {.max_batch_size = 1},
           .prefix_cache = PrefixCacheKind::none},
          {.draft_layers = 1, .kv_type = kv_type});
  const SeqId seq = run.submit(request);
  while (run.engine().has_work()) run.step();
  return run.output(seq);
}

SchedulerConfig random_config() {
  SchedulerConfig config;
  config.cache.block_size = *rc::gen::element<std::uint32_t>(1, 3, 4, 16);
  config.cache.num_blocks = (kLongest + draw(0, 30)) / config.cache.block_size + 1;
  config.cache.num_host_blocks = one_in(5) ? 0 : draw(1, config.cache.num_blocks);
  config.batch.max_batch_size = draw(2, 8);
  config.batch.max_batch_tokens = config.batch.max_batch_size + draw(0, 40);
  config.prefill_chunk_size = one_in(3) ? 512 : draw(1, 24);
  config.watermark_blocks = one_in(2) ? 0 : draw(1, config.cache.num_blocks / 4 + 1);
  config.priority_head_start = *rc::gen::element<std::uint32_t>(0, 1, 4, 64);
  config.preemption = *rc::gen::element(PreemptionPolicy::automatic, PreemptionPolicy::recompute,
                                        PreemptionPolicy::swap);
  config.swap_setup_cost = draw(0, 16);
  config.swap_block_cost = draw(0, 3);
  config.prefix_cache = *rc::gen::element(PrefixCacheKind::none, PrefixCacheKind::radix,
                                          PrefixCacheKind::hash, PrefixCacheKind::radix);
  config.prefix_hash_key = *rc::gen::arbitrary<std::uint64_t>();
  config.session_idle_steps = *rc::gen::element<std::uint64_t>(1, 8, 1000);
  config.draft_lengths = *rc::gen::element(DraftLengths::fixed, DraftLengths::adaptive);
  config.draft_break_even = *rc::gen::element(0U, 30U, 60U);
  return config;
}

/// Requests that share random prefixes, and the whole of what they come across.
class Scenario {
 public:
  explicit Scenario(const MakeFallible& make)
      : config_(random_config()),
        kv_type_(static_cast<numerics::KvType>(draw(0, 2))),
        run_(make, config_,
             {.drafts = draw(0, 8),
              .draft_layers = static_cast<int>(draw(1, 3)),
              .kv_type = kv_type_}),
        requests_max_(draw(2, 10)) {
    for (std::uint32_t i = 0; i < 2; ++i) stems_.push_back(random_tokens(draw(4, 40)));
  }

  void play() {
    while (submitted_.size() < requests_max_ || run_.engine().has_work()) {
      something_happens();
      if (run_.engine().has_work()) run_.step();
    }
  }

  void compare_with_alone(const MakeFallible& make_alone) {
    for (const auto& [seq, request] : submitted_) {
      const Output& found = run_.output(seq);
      Output expected = alone(make_alone, request, kv_type_);
      if (found.ended_early()) {
        RC_ASSERT(found.tokens.size() <= expected.tokens.size());
        expected.tokens.resize(found.tokens.size());
        expected.logits.resize(found.tokens.size());
        RC_ASSERT(found.told.size() <= expected.told.size());
        expected.told.resize(found.told.size());
        expected.finish = found.finish;
      }
      RC_ASSERT(found == expected);
    }
  }

  Ways ways() const {
    Ways ways = run_.ways();
    if (kv_type_ != numerics::KvType::f32) ways.narrow_blocks_in = ways.blocks_in;
    return ways;
  }

 private:
  bool caches() const { return config_.prefix_cache != PrefixCacheKind::none; }

  static std::vector<TokenId> random_tokens(std::uint32_t count) {
    std::vector<TokenId> tokens;
    for (std::uint32_t i = 0; i < count; ++i) {
      tokens.push_back(text::ByteTokenizer::token_of(static_cast<unsigned char>(draw(0, 255))));
    }
    return tokens;
  }

  void something_happens() {
    const bool all_submitted = submitted_.size() == requests_max_;
    const std::uint32_t dice = draw(0, 19);
    if (dice < 7 && !all_submitted) {
      const Request request = random_request();
      submitted_.emplace_back(run_.submit(request), request);
    } else if (dice < 9 && !all_submitted) {
      hogs_.push_back(run_.submit(hog()));
    } else if (dice == 9 || (all_submitted && one_in(8))) {
      for (const SeqId seq : hogs_) (void)run_.engine().cancel(seq);
      hogs_.clear();
    } else if (dice == 10) {
      run_.engine().clear_prefix_cache();
    } else if (dice == 11) {
      (void)run_.engine().release_session(SessionId(draw(0, 1)));
    } else if (dice == 12 && !submitted_.empty() && one_in(4)) {
      (void)run_.engine().cancel(submitted_.back().first);
    } else if (dice == 13 && one_in(4)) {
      one_in(2) ? run_.lose_soon() : run_.fail_soon();
    }
  }

  /// A random prefix of a stem and something of its own, an earlier prompt, or an earlier request's
  /// prompt and output so far with something after it.
  std::vector<TokenId> random_prompt() {
    std::vector<TokenId> prompt;
    if (submitted_.empty() || one_in(3)) {
      const auto& stem = stems_[draw(0, 1)];
      prompt.assign(stem.begin(), stem.begin() + draw(0, static_cast<std::uint32_t>(stem.size())));
    } else {
      const auto& [seq, before] =
          submitted_[draw(0, static_cast<std::uint32_t>(submitted_.size()) - 1)];
      prompt = before.prompt;
      if (one_in(3)) return prompt;
      const auto& output = run_.output(seq).tokens;
      prompt.insert(prompt.end(), output.begin(), output.end());
    }
    const std::vector<TokenId> own = random_tokens(draw(1, 9));
    prompt.insert(prompt.end(), own.begin(), own.end());
    prompt.resize(std::min<std::size_t>(prompt.size(), kLongest - 1));
    return prompt;
  }

  /// Each step of the pipeline is there in some requests, and several together in some.
  SamplingParams random_sampling() {
    SamplingParams sampling{.temperature = *rc::gen::element(0.0F, 0.7F, 1.5F),
                            .seed = *rc::gen::arbitrary<std::uint64_t>()};
    if (one_in(2)) return sampling;
    std::vector<TokenId> biased = random_tokens(draw(0, 3));
    std::ranges::sort(biased);
    biased.erase(std::unique(biased.begin(), biased.end()), biased.end());
    for (const TokenId token : biased) {
      sampling.logit_bias.push_back({token, *rc::gen::element(-100.0F, -1.0F, 0.5F)});
    }
    if (one_in(3)) sampling.repetition_penalty = *rc::gen::element(0.5F, 1.3F, 4.0F);
    if (one_in(3)) sampling.presence_penalty = *rc::gen::element(-1.0F, 0.7F);
    if (one_in(3)) sampling.frequency_penalty = *rc::gen::element(-0.5F, 0.3F, 2.0F);
    if (one_in(3)) sampling.top_k = draw(1, 30);
    if (one_in(3)) sampling.top_p = *rc::gen::element(0.1F, 0.8F, 0.99F);
    if (one_in(3)) sampling.min_p = *rc::gen::element(0.02F, 0.5F);
    if (one_in(3)) sampling.logprobs = draw(0, 4);
    if (one_in(3)) sampling.margins = true;
    return sampling;
  }

  Request random_request() {
    Request request{.prompt = random_prompt()};
    const auto longest = kLongest - static_cast<std::uint32_t>(request.prompt.size());
    request.max_new_tokens = draw(1, std::min(24U, longest));
    request.sampling = random_sampling();
    request.ignore_eos = *rc::gen::arbitrary<bool>();
    if (one_in(4)) {
      request.sampling.grammar = random_grammar();
      request.ignore_eos = false;
    }
    request.priority = *rc::gen::element(Priority::low, Priority::normal, Priority::high);
    if (one_in(8)) request.deadline_steps = draw(1, 30);
    if (one_in(8)) {
      request.prefix_cache = PrefixCacheUse::disable;
      request.sampling.prompt_logprobs = one_in(2);
    } else if (caches()) {
      if (one_in(2)) request.session = SessionId(draw(0, 1));
    }
    return request;
  }

  /// A request as large as the cache allows; it never ends by itself within a test.
  Request hog() const {
    const std::uint32_t capacity = config_.cache.num_blocks * config_.cache.block_size;
    const std::uint32_t prompt = draw(1, capacity / 2);
    return {.prompt = std::vector<TokenId>(prompt, TokenId{33}),
            .max_new_tokens = capacity - prompt,
            .ignore_eos = true,
            .priority = *rc::gen::element(Priority::normal, Priority::high)};
  }

  SchedulerConfig config_;
  numerics::KvType kv_type_;
  Run run_;
  std::size_t requests_max_;
  std::vector<std::vector<TokenId>> stems_;
  std::vector<std::pair<SeqId, Request>> submitted_;  // hogs apart
  std::vector<SeqId> hogs_;
};

}  // namespace

std::unique_ptr<FallibleTarget> never_failing_cpu(const executor::ExecutorOptions& options) {
  return std::make_unique<NeverFailingCpu>(options);
}

std::uint32_t draw(std::uint32_t low, std::uint32_t high) {
  return *rc::gen::resize(100, rc::gen::inRange(low, high + 1));
}
bool one_in(std::uint32_t n) { return draw(1, n) == 1; }

void Ways::add(const StepPlan& plan, const StepResult& result) {
  for (const BlockCopy& copy : plan.copies) {
    copies_on_write += copy.kind == CopyKind::within ? 1 : 0;
    blocks_out += copy.kind == CopyKind::swap_out ? 1 : 0;
    blocks_in += copy.kind == CopyKind::swap_in ? 1 : 0;
  }
  for (const Preemption& preemption : plan.preempted) {
    recomputes += preemption.mode == PreemptionMode::recompute ? 1 : 0;
  }
  for (const Slice& slice : plan.slices) chunks += slice.samples ? 0 : 1;
  for (const Finish& f : plan.finished) deadlines += f.reason == FinishReason::deadline ? 1 : 0;
  const bool failed = !result.slices.empty() && result.slices.front().signal == FinishSignal::error;
  failed_steps += failed ? 1 : 0;
  lost_sequences += result.kv_lost ? result.slices.size() : 0;
}

void Ways::add(const Ways& other) {
  chunks += other.chunks;
  hit_tokens += other.hit_tokens;
  recovered_tokens += other.recovered_tokens;
  evictions += other.evictions;
  copies_on_write += other.copies_on_write;
  blocks_out += other.blocks_out;
  blocks_in += other.blocks_in;
  narrow_blocks_in += other.narrow_blocks_in;
  recomputes += other.recomputes;
  accepted_drafts += other.accepted_drafts;
  session_hits += other.session_hits;
  failed_steps += other.failed_steps;
  lost_sequences += other.lost_sequences;
  deadlines += other.deadlines;
  bound_drafts += other.bound_drafts;
  completed += other.completed;
}

Ways play_scenario(const MakeFallible& make, const MakeFallible& make_alone) {
  Scenario scenario(make);
  scenario.play();
  scenario.compare_with_alone(make_alone);
  return scenario.ways();
}

}  // namespace forge::testing
