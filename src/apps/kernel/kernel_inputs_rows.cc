// Inputs of the kernels that know nothing of KV heads.
#include <algorithm>

#include "forge/executor/logits_digest.h"
#include "forge/numerics/reference.h"
#include "forge/numerics/vector_ops.h"
#include "forge/sampling/mask.h"
#include "forge/sampling/pipeline.h"
#include "forge/sampling/sampler.h"
#include "kernel_case_builder.h"

namespace forge::apps {
namespace {

using Sizes = KernelSizes;
using gpu::RowInput;

std::uint32_t word_of(std::size_t size) { return static_cast<std::uint32_t>(size); }

/// Every fourth row is a draft.
constexpr std::size_t kDraftEvery = 4;

/// Rows of logits, and where their picks go: row i to a place that is not i.
std::vector<gpu::LogitInput> logit_inputs(KernelCaseBuilder& b) {
  const std::vector<std::uint32_t> places = b.permutation(b.size(&Sizes::rows));
  std::vector<gpu::LogitInput> inputs(places.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = {.seed = b.word(),
                 .position = 100 + i,
                 .row = word_of(i),
                 .draft = i % kDraftEvery == kDraftEvery - 1 ? static_cast<std::int32_t>(i)
                                                             : RowInput::kNoDraft,
                 .pick = places[i],
                 .temperature = static_cast<float>(b.sizes().temperature_percent) / 100};
  }
  return inputs;
}

}  // namespace

gpu::KernelLaunch build_update_tables(KernelCaseBuilder& b) {
  constexpr std::size_t kStride = 32;
  const std::size_t count = b.size(&Sizes::writes);
  const std::size_t tables = count / kStride + 2;
  const std::vector<std::uint32_t> entries = b.permutation(tables * kStride);
  std::vector<gpu::TableWrite> writes(count);
  for (std::size_t i = 0; i < count; ++i) {
    writes[i] = {entries[i] / word_of(kStride), entries[i] % word_of(kStride), b.word()};
  }
  const auto written = b.upload("writes", std::move(writes));
  const auto table = b.output<std::uint32_t>("tables", tables * kStride);
  b.expect<std::uint32_t>(table, [written](std::vector<std::uint32_t>& words) {
    for (const gpu::TableWrite& w : *written.host) words[w.table * kStride + w.index] = w.block;
  });
  const gpu::UpdateTablesArgs args{
      .writes = written.device,
      .count = b.upload<std::uint32_t>("count", {word_of(count)}).device,
      .tables = table.device,
      .table_stride = word_of(kStride)};
  return gpu::launch_of(args, args.shape(b.sizes().writes));
}

gpu::KernelLaunch build_copy_blocks(KernelCaseBuilder& b) {
  const std::size_t pairs = b.size(&Sizes::pairs);
  const std::size_t numbers = 2 * b.size(&Sizes::layers) * b.size(&Sizes::kv_heads) *
                              b.size(&Sizes::head_size) * b.size(&Sizes::block_size);
  const std::size_t bytes = numbers * bytes_of(b.kv_type());
  const std::size_t floats = bytes / sizeof(float);  // any words will do
  const std::vector<std::uint32_t> from = b.permutation(pairs);
  const std::vector<std::uint32_t> to = b.permutation(pairs);
  std::vector<gpu::BlockPair> chosen(pairs);
  for (std::size_t i = 0; i < pairs; ++i) chosen[i] = {from[i], to[i]};
  const auto copied = b.upload("pairs", std::move(chosen));
  const auto source = b.upload("kv_pool", b.floats(pairs * floats));
  const auto target = b.output<float>("host_pool", pairs * floats);
  b.expect<float>(target, [=](std::vector<float>& pool) {
    for (const gpu::BlockPair& pair : *copied.host) {
      std::copy_n(source.data() + pair.from * floats, floats, pool.data() + pair.to * floats);
    }
  });
  const gpu::CopyBlocksArgs args{.pairs = copied.device,
                                 .source = source.device,
                                 .target = target.device,
                                 .block_bytes = bytes};
  return gpu::launch_of(args, args.shape(b.sizes().pairs));
}

gpu::KernelLaunch build_rms_norm(KernelCaseBuilder& b) {
  constexpr float kEps = 1e-5f;
  const std::size_t vectors = b.size(&Sizes::rows) * b.size(&Sizes::groups);
  const std::size_t d = b.size(&Sizes::hidden);
  const bool accumulate = b.sizes().accumulate != 0;
  const auto x = b.upload("x", b.floats(vectors * d));
  const auto weight = b.upload("weight", b.floats(d));
  const auto y =
      accumulate ? b.upload("y", b.floats(vectors * d)) : b.output<float>("y", vectors * d);
  b.expect<float>(y, [=](std::vector<float>& out) {
    const auto size = static_cast<int>(d);
    std::vector<float> normed(d);
    for (std::size_t i = 0; i < vectors; ++i) {
      numerics::rms_norm_reference(x.data() + i * d, weight.data(), size, kEps, normed.data());
      float* const to = out.data() + i * d;
      if (accumulate) {
        numerics::add(to, normed.data(), size);
      } else {
        std::copy(normed.begin(), normed.end(), to);
      }
    }
  });
  const gpu::RmsNormArgs args{.counts = b.row_counts(b.size(&Sizes::rows)),
                              .logits = nullptr,
                              .x = x.device,
                              .weight = weight.device,
                              .y = y.device,
                              .size = b.sizes().hidden,
                              .eps = kEps,
                              .groups = b.sizes().groups,
                              .accumulate = accumulate};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_glu(KernelCaseBuilder& b) {
  const std::size_t rows = b.size(&Sizes::rows);
  const std::size_t F = b.size(&Sizes::mlp);
  const auto gate_up = b.upload("gate_up", b.floats(rows * 2 * F));
  const auto gated = b.output<float>("gated", rows * F);
  using Kind = gpu::GluFunction::Kind;
  const gpu::GluFunction function{static_cast<Kind>(b.sizes().activation),
                                  {.alpha = 1.5F, .limit = 0.5F}};
  b.expect<float>(gated, [=](std::vector<float>& out) {
    const auto size = static_cast<int>(F);
    for (std::size_t i = 0; i < rows; ++i) {
      const float* const gate = gate_up.data() + i * 2 * F;
      float* const to = out.data() + i * F;
      if (function.kind == Kind::silu) {
        numerics::silu_multiply(gate, gate + F, size, to);
      } else if (function.kind == Kind::gelu_tanh) {
        numerics::gelu_tanh_multiply(gate, gate + F, size, to);
      } else {
        numerics::clamped_swiglu(gate, gate + F, function.clamp, size, to);
      }
    }
  });
  const gpu::GluArgs args{.counts = b.row_counts(rows),
                          .gate_up = gate_up.device,
                          .gated = gated.device,
                          .size = b.sizes().mlp,
                          .function = function};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_process_logits(KernelCaseBuilder& b) {
  constexpr std::size_t kSaid = 16;  // tokens of each sequence
  constexpr std::uint32_t kEveryOther = 0xaaaaaaaa;
  const std::size_t V = b.size(&Sizes::vocabulary);
  const std::size_t rows = b.size(&Sizes::rows);
  const SamplingParams params{
      .temperature = static_cast<float>(b.sizes().temperature_percent) / 100,
      .repetition_penalty = 1.2F,
      .frequency_penalty = 0.5F,
      .top_k = word_of(b.size(&Sizes::top_k)),
      .top_p = static_cast<float>(b.sizes().top_p_percent) / 100};
  std::vector<sampling::Adjustments> said(rows);
  std::vector<sampling::Adjustment> lists;
  std::vector<gpu::ProcessInput> processing(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<TokenId> prompt;
    for (std::size_t n = 0; n < kSaid; ++n) prompt.emplace_back(word_of((i + n * n) % V));
    said[i] = sampling::Adjustments(params, prompt);
    said[i].add(prompt.back());
    const auto list = said[i].list();
    processing[i] = {.filter = sampling::filter_of(params),
                     .penalties = sampling::penalties_of(params),
                     .first_adjustment = word_of(lists.size()),
                     .adjustment_count = word_of(list.size()),
                     .mask = word_of(i)};
    lists.insert(lists.end(), list.begin(), list.end());
  }
  const auto inputs = b.upload("inputs", processing);
  const auto adjustments = b.upload("adjustments", lists);
  const auto drafts = b.upload("drafts", std::vector<std::uint32_t>{0});
  const std::size_t words = sampling::mask_words(word_of(V));
  const auto masks = b.upload("masks", std::vector<std::uint32_t>(rows * words, kEveryOther));
  const auto logits = b.upload("logits", b.floats(rows * V));
  b.expect<float>(logits, [=](std::vector<float>& out) {
    sampling::Pipeline pipeline;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::span<float> row{out.data() + i * V, V};
      const std::span<const std::uint32_t> mask{masks.data() + i * words, words};
      std::ranges::copy(pipeline.process(row, params, said[i], {}, mask), row.begin());
    }
  });
  const gpu::ProcessLogitsArgs args{.counts = b.counts({.logit_rows = word_of(rows)}),
                                    .inputs = inputs.device,
                                    .adjustments = adjustments.device,
                                    .drafts = drafts.device,
                                    .masks = masks.device,
                                    .logits = logits.device,
                                    .vocabulary = b.sizes().vocabulary};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_sample(KernelCaseBuilder& b) {
  const std::size_t V = b.size(&Sizes::vocabulary);
  const auto inputs = b.upload("inputs", logit_inputs(b));
  const auto logits = b.upload("logits", b.floats(inputs.size() * V));
  std::vector<sampling::BestToken> candidates;
  for (std::size_t i = 0; b.sizes().candidates != 0 && i < inputs.size(); ++i) {
    std::ranges::copy(candidates_of({logits.data() + i * V, V}), std::back_inserter(candidates));
  }
  const auto picks = b.output<std::uint32_t>("picks", inputs.size());
  const auto drafts = b.output<std::uint32_t>("drafts", inputs.size());
  const auto picked = [=](std::size_t i) {
    const gpu::LogitInput& input = inputs[i];
    const SamplingParams params{input.temperature, input.seed};
    return sampling::pick({logits.data() + i * V, V}, params, input.position).value;
  };
  b.expect<std::uint32_t>(picks, [=](std::vector<std::uint32_t>& out) {
    for (std::size_t i = 0; i < inputs.size(); ++i) out[inputs[i].pick] = picked(i);
  });
  b.expect<std::uint32_t>(drafts, [=](std::vector<std::uint32_t>& out) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int32_t draft = inputs[i].draft;
      if (draft != RowInput::kNoDraft) out[static_cast<std::size_t>(draft)] = picked(i);
    }
  });
  const gpu::SampleArgs args{
      .counts = b.counts({.logit_rows = word_of(inputs.size())}),
      .inputs = inputs.device,
      .logits = logits.device,
      .picks = picks.device,
      .drafts = drafts.device,
      .vocabulary = b.sizes().vocabulary,
      .candidates = candidates.empty() ? nullptr : b.upload("candidates", candidates).device};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

gpu::KernelLaunch build_digest_logits(KernelCaseBuilder& b) {
  const std::size_t V = b.size(&Sizes::vocabulary);
  const auto inputs = b.upload("inputs", logit_inputs(b));
  const auto logits = b.upload("logits", b.floats(inputs.size() * V));
  const auto digests = b.output<std::uint64_t>("digests", inputs.size());
  b.expect<std::uint64_t>(digests, [=](std::vector<std::uint64_t>& out) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      out[inputs[i].pick] = executor::logits_digest({logits.data() + i * V, V});
    }
  });
  const gpu::DigestLogitsArgs args{.counts = b.counts({.logit_rows = word_of(inputs.size())}),
                                   .inputs = inputs.device,
                                   .logits = logits.device,
                                   .digests = digests.device,
                                   .vocabulary = b.sizes().vocabulary};
  return gpu::launch_of(args, args.shape(b.sizes().rows));
}

}  // namespace forge::apps
