#include "forge/runtime/system_fingerprint.h"

#include <gtest/gtest.h>

#include <string>

#include "forge/sim/open_device.h"

namespace forge::runtime {
namespace {

receipt::Fingerprint fingerprint(const TargetOptions& options,
                                 const std::string& model = "forge-tiny") {
  auto runtime = open(model, options);
  if (!runtime) throw std::runtime_error(runtime.error());
  return fingerprint_of(*runtime);
}

TEST(SystemFingerprint, is_the_same_whatever_changes_no_bits) {
  const receipt::Fingerprint usual = fingerprint({});
  EXPECT_EQ(usual.numerics, "canonical");
  EXPECT_EQ(usual.machine, "");
  EXPECT_EQ(usual.weights.size(), 32U);
  TargetOptions options;
  options.scheduler.cache = {.num_blocks = 40, .block_size = 4, .num_host_blocks = 3};
  options.scheduler.batch = {.max_batch_size = 2, .max_batch_tokens = 9};
  options.scheduler.prefill_chunk_size = 3;
  options.source.threads = 2;
  options.executor.drafts = 4;
  options.executor.draft_layers = 1;
  options.executor.digest_logits = true;
  EXPECT_EQ(fingerprint(options), usual);
  options.executor.draft_source = executor::DraftSource::ngram;
  EXPECT_EQ(fingerprint(options), usual);
  if (!sim::built_with_sim()) return;
  options.kind = TargetKind::sim;
  options.device.schedule_seed = 3;
  EXPECT_EQ(fingerprint(options), usual);
}

TEST(SystemFingerprint, says_which_part_is_another) {
  const receipt::Fingerprint usual = fingerprint({}, "forge-tiny:seed=1");
  receipt::Fingerprint other = fingerprint({}, "forge-tiny:seed=2");
  EXPECT_NE(other.weights, usual.weights);
  EXPECT_EQ(other.config, usual.config);
  EXPECT_NE(fingerprint({}, "forge-tiny:layers=2").config, usual.config);
  EXPECT_NE(fingerprint({}).vocabulary, usual.vocabulary) << "bytes have another tokenizer";

  TargetOptions options;
  options.kv = options.executor.kv_type = numerics::KvType::f16;
  receipt::Fingerprint kept = fingerprint(options, "forge-tiny:seed=1");
  EXPECT_EQ(kept.kv, "f16");
  kept.kv = usual.kv;
  EXPECT_EQ(kept, usual);
}

}  // namespace
}  // namespace forge::runtime
