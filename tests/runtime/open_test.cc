#include "forge/runtime/open.h"

#include <gmock/gmock.h>

#include <array>
#include <sstream>

#include "forge/core/heartbeat.h"
#include "formats/scratch_folder.h"

namespace forge::runtime {
namespace {

/// The answer to a prompt, as a program without a server would get it.
std::string told(Runtime& runtime, const std::string& prompt) {
  engine::Engine& engine = runtime.engine();
  const std::vector<TokenId> tokens = runtime.tokenizer().encode(prompt).value();
  EXPECT_TRUE(engine.submit({.prompt = tokens, .max_new_tokens = 12}));
  text::TextStream text(runtime.tokenizer());
  std::string answer;
  while (engine.has_work()) {
    const auto [plan, result] = engine.step();
    for (const TokenId token : result.tokens) answer += text.push(token);
  }
  return answer + text.finish();
}

TEST(Open, a_model_from_a_file_tells_the_same_on_each_target) {
  auto on_cpu = forge::open(FORGE_TALES);
  ASSERT_TRUE(on_cpu) << on_cpu.error();
  TargetOptions options;
  options.kind = TargetKind::sim;
  options.executor.drafts = 3;
  auto on_sim = forge::open(FORGE_TALES, options);
  ASSERT_TRUE(on_sim) << on_sim.error();
  const std::string tale = told(*on_cpu, "The dog");
  EXPECT_GT(tale.size(), 12U) << tale;
  EXPECT_EQ(told(*on_sim, "The dog"), tale);
  EXPECT_EQ(on_cpu->config().vocabulary_size, on_sim->config().vocabulary_size);
}

TEST(Open, a_target_beats_within_a_step_with_each_layer_at_least) {
  for (const TargetKind kind : {TargetKind::cpu, TargetKind::sim}) {
    Heartbeat heartbeat;
    TargetOptions options;
    options.kind = kind;
    options.executor.heartbeat = &heartbeat;
    auto runtime = forge::open(FORGE_TALES, options);
    ASSERT_TRUE(runtime) << runtime.error();
    engine::Engine& engine = runtime->engine();
    ASSERT_TRUE(engine.submit({.prompt = runtime->tokenizer().encode("The dog").value()}));
    const std::uint64_t before = heartbeat.beats();
    engine.step();
    EXPECT_GE(heartbeat.beats(), before + static_cast<std::uint64_t>(runtime->config().layers))
        << name_of(kind);
  }
}

TEST(Open, the_cache_has_a_full_batch_of_a_files_longest_texts_unless_told_otherwise) {
  const auto fitted = forge::open(FORGE_TALES);
  const auto positions = static_cast<std::uint32_t>(fitted->config().positions);
  const SchedulerConfig& scheduler = fitted->options().scheduler;
  EXPECT_GE(scheduler.cache.num_blocks * scheduler.cache.block_size,
            positions * scheduler.batch.max_batch_size);

  TargetOptions few;
  few.scheduler.cache.num_blocks = 7;
  few.fit_blocks = false;
  EXPECT_EQ(forge::open(FORGE_TALES, few)->options().scheduler.cache.num_blocks, 7U);
}

TEST(Open, twice_as_many_blocks_of_16_bits_are_in_the_same_memory) {
  TargetOptions options;
  options.source.kv_memory = parse_kv_memory("3MiB").value();
  const std::uint32_t blocks =
      forge::open(FORGE_TALES, options)->options().scheduler.cache.num_blocks;
  options.executor.kv_type = numerics::KvType::bf16;
  EXPECT_EQ(forge::open(FORGE_TALES, options)->options().scheduler.cache.num_blocks / 2, blocks);
}

TEST(Open, what_cannot_be_opened_is_named) {
  EXPECT_EQ(forge::open("nowhere").error(),
            "--model: nowhere: is neither a directory nor a file named .safetensors or .gguf");
  EXPECT_THAT(forge::open("forge-tiny:legs=3").error(), ::testing::HasSubstr("legs"));
}

TEST(Open, a_run_is_recorded_with_what_gave_it_its_bits) {
  auto runtime = forge::open("forge-tiny:layers=2");
  ASSERT_TRUE(runtime) << runtime.error();
  std::ostringstream file;
  trace::TraceStream out(file);
  const trace::TraceWriter& trace = runtime->record(std::array<trace::TraceOutput*, 1>{&out});
  told(*runtime, "Once");
  EXPECT_GT(trace.steps(), 0U);
  EXPECT_THAT(file.str(), ::testing::HasSubstr(R"("layers":2)"));
}

/// tales with a template whose answers end with `mark`.
Runtime open_with_answers_that_end_with(const std::string& mark) {
  const formats::testing::ScratchFolder folder;
  folder.write("one.jinja", "{% for m in messages %}{{ m.content }}" + mark + "{% endfor %}");
  TargetOptions options;
  options.source.chat_template = folder.file("one.jinja");
  return forge::open(FORGE_TALES, options).value();
}

TEST(Open, the_token_that_ends_an_answer_ends_every_text) {
  const auto without = forge::open(FORGE_TALES);
  EXPECT_EQ(without->options().executor.eos, (std::vector{TokenId(1), TokenId(2)}));
  EXPECT_EQ(without->model().answer_stop(), "<|im_end|>");  // no token of its vocabulary
  const Runtime with = open_with_answers_that_end_with("<unk>");
  EXPECT_EQ(with.options().executor.eos, (std::vector{TokenId(0), TokenId(1), TokenId(2)}));
  EXPECT_EQ(with.model().answer_stop(), "");
  EXPECT_EQ(open_with_answers_that_end_with("</s>").model().answer_stop(), "");
  EXPECT_EQ(open_with_answers_that_end_with("THE END").model().answer_stop(), "THE END");
}

}  // namespace
}  // namespace forge::runtime
