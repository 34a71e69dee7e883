// sample picks the token that the CPU picks, with and without candidates; process_logits leaves
// what its pipeline leaves; digest_logits has the CPU's digest.
#include <algorithm>
#include <cmath>
#include <span>

#include "forge/executor/logits_digest.h"
#include "forge/sampling/mask.h"
#include "forge/sampling/pipeline.h"
#include "forge/sampling/sampler.h"
#include "gpu/candidates_of.h"
#include "gpu/kernel_rig.h"

namespace forge::gpu {
namespace {

constexpr std::uint32_t kUnwritten = 777;

class Sampling : public KernelTest {
 protected:
  struct Row {
    std::vector<float> logits;
    float temperature;
    std::uint64_t seed;
    std::uint64_t position;
  };

  /// What sample and digest_logits read, and what they leave.
  struct Step {
    std::vector<float> logits;
    std::vector<LogitInput> inputs;
    PassCounts counts;
    std::vector<std::uint32_t> picks;
    std::vector<std::uint32_t> drafts;
    std::vector<std::uint64_t> digests;
  };

  /// Picks go to places in another order than the rows', every other one also to the drafts. The
  /// last row picks nothing.
  static Step step_of(const std::vector<Row>& rows) {
    const std::size_t places = rows.size() + 2;
    Step step{.picks = std::vector<std::uint32_t>(places, kUnwritten),
              .drafts = std::vector<std::uint32_t>(places, kUnwritten),
              .digests = std::vector<std::uint64_t>(places, kUnwritten)};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      step.logits.insert(step.logits.end(), row.logits.begin(), row.logits.end());
      const std::size_t place = places - 1 - i;
      const bool draft = i % 2 == 0;
      step.inputs.push_back({.seed = row.seed,
                             .position = row.position,
                             .draft = draft ? static_cast<std::int32_t>(i) : RowInput::kNoDraft,
                             .pick = static_cast<std::uint32_t>(place),
                             .temperature = row.temperature});
      const bool can = sampling::can_pick(row.logits);
      step.picks[place] =
          can ? sampling::pick(row.logits, {row.temperature, row.seed}, row.position).value
              : SampleArgs::kNoPick;
      if (draft) step.drafts[i] = can ? step.picks[place] : 0;
      step.digests[place] = executor::logits_digest(row.logits);
    }
    step.inputs.push_back({.pick = LogitInput::kPicksNothing, .temperature = 1.0f});
    step.logits.insert(step.logits.end(), rows[0].logits.size(), 0.5f);
    step.counts.logit_rows = static_cast<std::uint32_t>(step.inputs.size());
    step.inputs.push_back({.draft = 1'000'000'000, .pick = 4'000'000'000u});  // beyond the count
    return step;
  }

  static SampleArgs sample_args(KernelRig& rig, const Step& step, std::size_t vocabulary) {
    const std::vector<std::uint32_t> before(step.picks.size(), kUnwritten);
    return {.counts = rig.input("counts", std::vector{step.counts}),
            .inputs = rig.input("inputs", step.inputs),
            .logits = rig.input("logits", step.logits),
            .picks = rig.output("picks", before, step.picks),
            .drafts = rig.output("drafts", before, step.drafts),
            .vocabulary = static_cast<int>(vocabulary)};
  }

  void expect(const std::vector<Row>& rows) const {
    const std::size_t vocabulary = rows[0].logits.size();
    const int rows_max = static_cast<int>(rows.size()) + 3;
    const Step step = step_of(rows);
    const auto rig = this->rig(vocabulary);
    const SampleArgs sample = sample_args(*rig, step, vocabulary);
    const DigestLogitsArgs digest{
        .counts = sample.counts,
        .inputs = sample.inputs,
        .logits = sample.logits,
        .digests = rig->output(
            "digests", std::vector<std::uint64_t>(step.digests.size(), kUnwritten), step.digests),
        .vocabulary = sample.vocabulary};
    rig->expect(
        {launch_of(sample, sample.shape(rows_max)), launch_of(digest, digest.shape(rows_max))});
    expect_by_candidates(rows, step);
  }

  /// The same picks. The logits of rows at temperature 0 are NaN, with which nothing is picked:
  /// they must not be read. If no row is above, there are none, and a read is beyond the array.
  void expect_by_candidates(const std::vector<Row>& rows, Step step) const {
    const std::size_t vocabulary = rows[0].logits.size();
    std::vector<sampling::BestToken> candidates;
    bool is_read = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      append_candidates(rows[i].logits, candidates);
      is_read |= rows[i].temperature > 0;
      const auto logits = std::span(step.logits).subspan(i * vocabulary, vocabulary);
      if (rows[i].temperature == 0) std::ranges::fill(logits, NAN);
    }
    candidates.resize(candidates.size() + static_cast<std::size_t>(candidate_count(
                                              static_cast<int>(vocabulary))));  // of the last row
    if (!is_read) step.logits.resize(1);
    const auto rig = this->rig(vocabulary + 1);
    SampleArgs sample = sample_args(*rig, step, vocabulary);
    sample.candidates = rig->input("candidates", candidates);
    rig->expect(launch_of(sample, sample.shape(static_cast<int>(rows.size()) + 3)));
  }
};
FORGE_KERNEL_TEST_TARGETS(Sampling);

/// Rows that go through the pipeline first.
class Processing : public KernelTest {
 protected:
  struct Row {
    std::vector<float> logits;
    SamplingParams params;
    std::vector<TokenId> prompt;
    std::vector<TokenId> output;
    std::vector<TokenId> drafts;
    std::vector<std::uint32_t> mask = {};
  };

  void expect(const std::vector<Row>& rows) const {
    const std::size_t vocabulary = rows[0].logits.size();
    std::vector<float> before;
    std::vector<float> after;
    std::vector<ProcessInput> inputs;
    std::vector<sampling::Adjustment> lists(3);  // of nobody
    std::vector<std::uint32_t> drafts(2);
    std::vector<std::uint32_t> masks(sampling::mask_words(static_cast<std::uint32_t>(vocabulary)));
    const auto masks_so_far = [&, words = masks.size()] {
      return static_cast<std::uint32_t>(masks.size() / words);
    };
    sampling::Pipeline pipeline;
    for (const Row& row : rows) {
      before.insert(before.end(), row.logits.begin(), row.logits.end());
      sampling::Adjustments said(row.params, row.prompt);
      for (const TokenId token : row.output) said.add(token);
      const auto list = said.list();
      inputs.push_back({.filter = sampling::filter_of(row.params),
                        .penalties = sampling::penalties_of(row.params),
                        .first_adjustment = static_cast<std::uint32_t>(lists.size()),
                        .adjustment_count = static_cast<std::uint32_t>(list.size()),
                        .first_draft = static_cast<std::uint32_t>(drafts.size()),
                        .draft_count = static_cast<std::uint32_t>(row.drafts.size()),
                        .mask = row.mask.empty() ? ProcessInput::kNoMask : masks_so_far()});
      masks.insert(masks.end(), row.mask.begin(), row.mask.end());
      lists.insert(lists.end(), list.begin(), list.end());
      for (const TokenId draft : row.drafts) drafts.push_back(draft.value);
      const auto done = pipeline.process(row.logits, row.params, said, row.drafts, row.mask);
      after.insert(after.end(), done.begin(), done.end());
    }
    inputs.push_back({.filter = {.top_k = 1}, .adjustment_count = 1000});  // beyond the count
    const PassCounts counts{.logit_rows = static_cast<std::uint32_t>(rows.size())};
    const auto rig = this->rig(vocabulary);
    const ProcessLogitsArgs args{.counts = rig->input("counts", std::vector{counts}),
                                 .inputs = rig->input("inputs", inputs),
                                 .adjustments = rig->input("adjustments", lists),
                                 .drafts = rig->input("drafts", drafts),
                                 .masks = rig->input("masks", masks),
                                 .logits = rig->output("logits", before, after),
                                 .vocabulary = static_cast<int>(vocabulary)};
    rig->expect(launch_of(args, args.shape(static_cast<int>(rows.size()) + 1)));
  }
};
FORGE_KERNEL_TEST_TARGETS(Processing);

TEST_P(Processing, VocabulariesOfEverySizeThroughEachStep) {
  for (const int vocabulary : {1, 2, 31, 32, 33, 129, 320, 4101}) {
    SCOPED_TRACE(vocabulary);
    Random random(static_cast<std::uint64_t>(vocabulary));
    const auto size = static_cast<std::size_t>(vocabulary);
    const TokenId last(static_cast<std::uint32_t>(vocabulary) - 1);
    const std::vector<SamplingParams> all{
        {.temperature = 1.0f, .top_k = 7},
        {.temperature = 0.5f, .top_p = 0.9f},
        {.temperature = 2.0f, .min_p = 0.1f},
        {.temperature = 0.7f, .top_k = 20, .top_p = 0.8f, .min_p = 0.05f},
        {.logit_bias = {{last, 3.0f}}},
        {.temperature = 1.0f, .repetition_penalty = 1.3f, .frequency_penalty = 0.5f, .top_k = 5},
        {.presence_penalty = 1.0f},
        {.temperature = 1.0f},
    };
    std::vector<Row> rows;
    for (const SamplingParams& params : all) {
      rows.push_back({random.reals(size, 5.0f),
                      params,
                      {TokenId(0), last},
                      {last, TokenId(0), last},
                      {TokenId(vocabulary > 40 ? 40u : 0u), last, TokenId(0), TokenId(0)}});
    }
    expect(rows);
  }
}

TEST_P(Processing, RowsThatAreFlatTiedRuledOutOrNotFinite) {
  constexpr std::size_t kVocabulary = 259;
  Random random(2);
  const std::vector<float> flat(kVocabulary, 1.5f);
  std::vector<float> tied = random.reals(kVocabulary, 2.0f);
  for (std::size_t token = 0; token < kVocabulary; token += 2) tied[token] = 0.75f;
  std::vector<float> few(kVocabulary, -INFINITY);
  few[7] = few[200] = 1.0f;
  few[201] = -0.0f;
  std::vector<float> bad = tied;
  bad[100] = NAN;
  std::vector<float> infinite = tied;
  infinite[101] = INFINITY;
  const std::vector<float> none(kVocabulary, -INFINITY);
  std::vector<Row> rows;
  for (const auto& logits : {flat, tied, few, bad, infinite, none}) {
    rows.push_back({logits, {.temperature = 1.0f, .top_k = 1}, {}, {}, {}});
    rows.push_back({logits, {.temperature = 1.0f, .top_k = 130}, {}, {}, {}});
    rows.push_back({logits, {.temperature = 0.1f, .top_p = 0.3f}, {}, {}, {}});
    rows.push_back({logits, {.temperature = 1.0f, .top_k = 3, .top_p = 0.99f}, {}, {}, {}});
    rows.push_back({logits,
                    {.temperature = 1.0f,
                     .logit_bias = {{TokenId(100), -100.0f}, {TokenId(101), -100.0f}},
                     .repetition_penalty = 2.0f,
                     .top_p = 0.5f,
                     .min_p = 0.5f},
                    {TokenId(7)},
                    {},
                    {}});
  }
  expect(rows);
}

TEST_P(Processing, MasksOfEverySizeBeforeTheOtherSteps) {
  for (const std::size_t vocabulary : {1U, 31U, 32U, 33U, 320U, 4101U}) {
    SCOPED_TRACE(vocabulary);
    Random random(vocabulary);
    const auto random_mask = [&](std::uint32_t odds) {
      std::vector<std::uint32_t> mask(sampling::mask_words(static_cast<std::uint32_t>(vocabulary)));
      for (std::uint32_t token = 0; token < vocabulary; ++token) {
        if (random.word() % odds == 0) mask[token / 32] |= 1U << token % 32;
      }
      return mask;
    };
    std::vector<float> bad = random.reals(vocabulary, 5.0f);
    bad.back() = NAN;
    const std::vector<SamplingParams> all{
        {},
        {.temperature = 1.0f, .top_k = 3, .top_p = 0.9f},
        {.temperature = 1.0f, .logit_bias = {{TokenId(0), 3.0f}}, .min_p = 0.1f},
        {.presence_penalty = 1.0f}};
    std::vector<Row> rows;
    for (const SamplingParams& params : all) {
      const std::vector<TokenId> output{TokenId(0)};
      rows.push_back({random.reals(vocabulary, 5.0f), params, {}, output, {}, random_mask(2)});
      rows.push_back({random.reals(vocabulary, 5.0f), params, {}, output, {}});
      rows.push_back({random.reals(vocabulary, 5.0f), params, {}, {}, output, random_mask(50)});
      rows.push_back({bad, params, {}, output, {}, random_mask(2)});
    }
    expect(rows);
  }
}

TEST_P(Processing, TokensBeyondTheVocabularyChangeNothing) {
  Random random(3);
  const TokenId beyond(320);
  const TokenId far(4'000'000'000);
  expect({{random.reals(320, 2.0f),
           {.logit_bias = {{beyond, 3.0f}}, .presence_penalty = 1.0f},
           {},
           {far, TokenId(319)},
           {beyond, far}}});
}

TEST_P(Sampling, VocabulariesOfEverySizeAtSeveralTemperatures) {
  for (const int vocabulary : {1, 2, 3, 4, 5, 31, 63, 64, 65, 129, 320, 1000, 4101}) {
    SCOPED_TRACE(vocabulary);
    Random random(static_cast<std::uint64_t>(vocabulary));
    std::vector<Row> rows;
    for (const float temperature : {0.0f, 0.01f, 0.7f, 1.0f, 50.0f}) {
      const std::uint64_t seed = random.word() * std::uint64_t{0x100000001};
      rows.push_back({random.reals(static_cast<std::size_t>(vocabulary), 5.0f), temperature, seed,
                      random.word()});
    }
    expect(rows);
  }
}

TEST_P(Sampling, ManySeedsAndPositions) {
  Random random(1);
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 60; ++i) {
    rows.push_back(
        {random.reals(97, 2.0f), 1.0f, i % 7 * 0x9e3779b97f4a7c15u, i % 2 == 0 ? i : i << 33});
  }
  expect(rows);
}

TEST_P(Sampling, OfEqualLogitsTheLowestTokenWins) {
  std::vector<float> flat(300, 1.5f);
  std::vector<float> twice(300, -2.0f);
  twice[290] = twice[17] = 0.25f;
  std::vector<float> zeros(300, -1.0f);
  zeros[200] = 0.0f;
  zeros[30] = -0.0f;  // equal to +0
  expect({{flat, 0.0f, 1, 1}, {twice, 0.0f, 1, 1}, {zeros, 0.0f, 1, 1}, {flat, 1.0f, 1, 1}});
  expect({{flat, 0.0f, 1, 1}, {twice, 0.0f, 1, 1}, {zeros, 0.0f, 1, 1}});
}

TEST_P(Sampling, TokensThatAreRuledOutAreNeverPicked) {
  std::vector<float> last(259, -INFINITY);
  last[258] = -3.0f;
  std::vector<float> most(259, -INFINITY);
  for (std::size_t token = 5; token < most.size(); token += 50) most[token] = 0.5f;
  std::vector<Row> rows{{last, 0.0f, 1, 1}, {last, 1.0f, 1, 1}};
  for (std::uint64_t seed = 0; seed < 8; ++seed) rows.push_back({most, 2.0f, seed, 9});
  expect(rows);
}

TEST_P(Sampling, RowsThatAreNotFiniteHaveNoPickAndDraftTokenZero) {
  for (const int vocabulary : {1, 2, 5, 64, 259, 4101}) {
    SCOPED_TRACE(vocabulary);
    Random random(static_cast<std::uint64_t>(vocabulary));
    const auto size = static_cast<std::size_t>(vocabulary);
    std::vector<Row> rows;
    for (const float temperature : {0.0f, 1.0f}) {
      for (const float bad : {NAN, -NAN, INFINITY}) {
        for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
          Row row{random.reals(size, 5.0f), temperature, 7, 3};
          row.logits[at] = bad;
          rows.push_back(row);
        }
      }
      rows.push_back({std::vector<float>(size, NAN), temperature, 7, 3});
      rows.push_back({std::vector<float>(size, -INFINITY), temperature, 7, 3});
      rows.push_back({random.reals(size, 5.0f), temperature, 7, 3});
    }
    expect(rows);
  }
}

}  // namespace
}  // namespace forge::gpu
