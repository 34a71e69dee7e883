// A target that comes into a run in the middle: its KV is computed again from a snapshot
// (trace/restore_target.h), and from there on it answers to the bit as the one that was there from
// the beginning. Every read of KV is checked (kv_guard.h).
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "executor/byte_grammars.h"
#include "executor/driver.h"
#include "forge/core/scheduler.h"
#include "forge/trace/replay.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"
#include "trace/recorded_run.h"

namespace forge::executor {
namespace {

using testing::Drafting;
using testing::MakeTarget;
using testing::request_of;

SchedulerConfig config_of(PreemptionPolicy preemption) {
  return {.cache = {.num_blocks = 20, .block_size = 4, .num_host_blocks = 16},
          .batch = {.max_batch_size = 5, .max_batch_tokens = 24},
          .prefill_chunk_size = 7,
          .preemption = preemption};
}

/// Requests that begin alike, some in a session, with everything of which a target keeps something.
std::vector<Request> some_requests() {
  std::vector<Request> requests;
  for (const char* prompt :
       {"the cat sat on a mat", "the cat ran", "the dog the dog the dog", "a", "the cat sat on it",
        "the cat sat on a mat", "the dog ran", "the cat ran to the dog"}) {
    const auto index = static_cast<std::uint32_t>(requests.size());
    Request request = request_of(prompt, index % 2 == 0 ? 0.8F : 0.0F, index);
    request.max_new_tokens = 14 + index;
    request.ignore_eos = index != 3;
    if (index == 3) {
      request.sampling.grammar = testing::output_of(GrammarKind::regex, "[a-f ]{40}");
    }
    if (index % 3 == 1) request.sampling.repetition_penalty = 1.3F;
    if (index % 4 == 2) {
      request.prefix_cache = PrefixCacheUse::disable;
      request.sampling.logprobs = 2;
      request.sampling.prompt_logprobs = true;
    } else if (index % 3 == 0) {
      request.session = SessionId{index};
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

struct RecordedFiles {
  std::vector<std::string> files;
  std::set<SequenceState> states;  ///< of sequences in the snapshots
  bool has_swapped = false;
};

RecordedFiles record(const MakeTarget& make, const ExecutorOptions& options,
                     PreemptionPolicy preemption) {
  const SchedulerConfig config = config_of(preemption);
  testing::FilesInMemory out(2);
  trace::TraceWriter writer(out, {.scheduler = config});
  const auto target = make(options);
  Scheduler scheduler(config);
  StepResult result;
  RecordedFiles recorded;
  const std::vector<Request> requests = some_requests();
  std::size_t submitted = 0;
  while (submitted < requests.size() || scheduler.has_work()) {
    if (submitted < requests.size()) {
      const Request& request = requests[submitted++];
      const SeqId seq = scheduler.submit(request).value();
      target->begin(seq, request);
      writer.submit(seq, request);
    }
    const StepPlan& plan = scheduler.schedule();
    EXPECT_TRUE(target->execute(plan, result).has_value());
    scheduler.commit(plan, result);
    writer.step(plan, result, scheduler.cache_delta());
    if (!writer.wants_snapshot()) continue;
    const SchedulerSnapshot snapshot = scheduler.snapshot();
    for (const SequenceSnapshot& sequence : snapshot.sequences) {
      recorded.states.insert(sequence.view.state);
    }
    recorded.has_swapped = recorded.has_swapped || !snapshot.host.tables.empty();
    writer.go_on(snapshot);
  }
  recorded.files = out.files();
  return recorded;
}

class RestoredTarget : public testing::TargetTest {
 protected:
  static void expect_the_same(const Drafting& drafting, ExecutorOptions options) {
    options.digest_logits = true;
    options.check_kv = true;
    options.grammars = testing::byte_grammars();
    for (const auto preemption : {PreemptionPolicy::swap, PreemptionPolicy::recompute}) {
      const SchedulerConfig config = config_of(preemption);
      options.cache = config.cache;
      options.batch = config.batch;
      const RecordedFiles recorded = record(testing::cpu_target(drafting), options, preemption);
      EXPECT_GT(recorded.files.size(), 8U);
      EXPECT_EQ(recorded.states.size(), 4U) << "a snapshot of each state";
      EXPECT_EQ(recorded.has_swapped, preemption == PreemptionPolicy::swap);
      for (const std::string& file : recorded.files) {
        const auto fresh = target(drafting)(options);
        std::istringstream in(file);
        auto reader = trace::TraceReader::open(in).value();
        const auto report = trace::replay(reader, *fresh, 320);
        ASSERT_TRUE(report.has_value()) << to_string(report.error());
        ASSERT_FALSE(report->difference)
            << "step " << report->difference->step.value << ": "
            << to_string(report->difference->difference) << report->difference->target_error;
      }
    }
  }
};

TEST_P(RestoredTarget, answers_as_the_one_that_was_there_from_the_beginning) {
  expect_the_same({}, {});
}

TEST_P(RestoredTarget, has_its_drafts_from_the_first_layers) { expect_the_same({}, {.drafts = 3}); }

TEST_P(RestoredTarget, has_its_drafts_from_the_text) {
  expect_the_same({.model = {}, .drafter = [] { return std::make_unique<NgramDrafter>(); }},
                  {.drafts = 3, .draft_source = DraftSource::ngram});
}

TEST_P(RestoredTarget, has_its_drafts_from_a_model) {
  expect_the_same({.model = reference::TinyConfig{.layers = 1}, .drafter = {}}, {.drafts = 3});
}

TEST_P(RestoredTarget, refuses_an_output_that_its_grammar_has_not) {
  ExecutorOptions options;
  options.grammars = testing::byte_grammars();
  const auto fresh = target()(options);
  Request request = request_of("a");
  request.ignore_eos = false;
  request.sampling.grammar = testing::output_of(GrammarKind::regex, "[a-f]{4}");
  const std::vector<TokenId> output{text::ByteTokenizer::token_of('a'),
                                    text::ByteTokenizer::token_of('z')};
  const auto resumed = fresh->resume(SeqId{1}, request, {.output = output});
  ASSERT_FALSE(resumed.has_value());
  EXPECT_EQ(resumed.error(),
            "token " + std::to_string(output[1].value) + " of its output is not of its grammar");
}

FORGE_FOR_EACH_TARGET(RestoredTarget);

}  // namespace
}  // namespace forge::executor
