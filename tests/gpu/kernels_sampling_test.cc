// sample picks the token that the CPU picks; digest_logits has the CPU's digest.
#include <algorithm>
#include <cmath>

#include "forge/executor/logits_digest.h"
#include "forge/sampling/sampler.h"
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

  /// Picks go to places in another order than the rows', every other one also to the drafts.
  void expect(const std::vector<Row>& rows) const {
    const std::size_t vocabulary = rows[0].logits.size();
    const std::size_t places = rows.size() + 2;
    std::vector<float> logits;
    std::vector<LogitInput> inputs;
    std::vector<std::uint32_t> picks(places, kUnwritten);
    std::vector<std::uint32_t> drafts(places, kUnwritten);
    std::vector<std::uint64_t> digests(places, kUnwritten);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      logits.insert(logits.end(), row.logits.begin(), row.logits.end());
      const std::size_t place = places - 1 - i;
      const bool draft = i % 2 == 0;
      inputs.push_back({.seed = row.seed,
                        .position = row.position,
                        .draft = draft ? static_cast<std::int32_t>(i) : RowInput::kNoDraft,
                        .pick = static_cast<std::uint32_t>(place),
                        .temperature = row.temperature});
      const bool can = sampling::can_pick(row.logits);
      picks[place] =
          can ? sampling::pick(row.logits, {row.temperature, row.seed}, row.position).value
              : SampleArgs::kNoPick;
      if (draft) drafts[i] = can ? picks[place] : 0;
      digests[place] = executor::logits_digest(row.logits);
    }
    inputs.push_back({.draft = 1'000'000'000, .pick = 4'000'000'000u});  // beyond the count
    const PassCounts counts{.logit_rows = static_cast<std::uint32_t>(rows.size())};
    const int rows_max = static_cast<int>(rows.size()) + 2;
    const int V = static_cast<int>(vocabulary);

    const auto rig = this->rig(vocabulary);
    const PassCounts* counts_there = rig->input("counts", std::vector{counts});
    const LogitInput* inputs_there = rig->input("inputs", inputs);
    const float* logits_there = rig->input("logits", logits);
    const std::vector<std::uint32_t> before(places, kUnwritten);
    const SampleArgs sample{.counts = counts_there,
                            .inputs = inputs_there,
                            .logits = logits_there,
                            .picks = rig->output("picks", before, picks),
                            .drafts = rig->output("drafts", before, drafts),
                            .vocabulary = V};
    const DigestLogitsArgs digest{
        .counts = counts_there,
        .inputs = inputs_there,
        .logits = logits_there,
        .digests = rig->output("digests", std::vector<std::uint64_t>(places, kUnwritten), digests),
        .vocabulary = V};
    rig->expect(
        {launch_of(sample, sample.shape(rows_max)), launch_of(digest, digest.shape(rows_max))});
  }
};
FORGE_KERNEL_TEST_TARGETS(Sampling);

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
