// --lora, from the command line to a trace's header and back.
#include <gtest/gtest.h>

#include "apps/parsed_options.h"
#include "forge/runtime/target_header.h"
#include "forge/trace/trace_header.h"

namespace forge::apps {
namespace {

using Adapters = std::vector<checkpoint::LoraSource>;

TEST(LoraFlags, adapters_keep_their_order_and_scales) {
  const auto options =
      parsed({"--model", "x.gguf", "--lora", "b", "--lora", "a/:-0.5", "--lora", "b:1e-3"}).value();
  EXPECT_EQ(options.source.lora, (Adapters{{"b", 1}, {"a/", -0.5}, {"b", 0.001}}));
  EXPECT_TRUE(parsed({"--model", "x.gguf"})->source.lora.empty());
}

TEST(LoraFlags, what_is_refused_is_named) {
  EXPECT_EQ(parsed({"--model", "x.gguf", "--lora", "a:much"}).error(),
            "--lora: the scale 'much' of an adapter, accepted: a finite number, as in DIR:0.5");
  EXPECT_EQ(parsed({"--model", "x.gguf", "--lora", "a:inf"}).error(),
            "--lora: the scale 'inf' of an adapter, accepted: a finite number, as in DIR:0.5");
  EXPECT_EQ(parsed({"--lora", "a"}).error(),
            "--lora: accepted with --model PATH, a model from a file");
  EXPECT_EQ(parsed({"--model", "forge-tiny:layers=2", "--lora", "a"}).error(),
            "--lora: accepted with --model PATH, a model from a file");
  EXPECT_EQ(parsed({"--target", "null", "--lora", "a", "--model", "x.gguf"}).error(),
            "--model does not apply to --target null");
}

TEST(LoraFlags, a_trace_header_has_them_beside_the_path_of_the_model) {
  const auto options = parsed({"--model", "x.gguf", "--lora", "b:0.1", "--lora", "a"}).value();
  runtime::RunRecord record;
  record.instructions = "AVX2";
  record.model = runtime::ModelRecord{std::string(16, 'c'), std::string(32, 'd')};
  trace::TraceHeader header = runtime::to_trace_header(options, record);
  EXPECT_EQ(header.target["model"]["lora"].dump(),
            R"([{"path":"b","scale":0.1},{"path":"a","scale":1.0}])");
  const auto read = runtime::from_trace_header(header);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->options.source.lora, options.source.lora);
  header.target["model"]["lora"][1]["scale"] = "half";
  EXPECT_EQ(runtime::from_trace_header(header).error().find(
                R"(target.model.lora[1].scale is "half"; accepted is )"),
            0U)
      << runtime::from_trace_header(header).error();
  const auto without = parsed({"--model", "x.gguf"}).value();
  EXPECT_FALSE(runtime::to_trace_header(without, record).target["model"].contains("lora"));
}

}  // namespace
}  // namespace forge::apps
