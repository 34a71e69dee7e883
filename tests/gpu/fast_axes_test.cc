// What else may differ between two runs of a request, each alone: for every family in fast numerics
// (fast_families.h) what comes out is what came out of the request by itself, in one chunk. These
// are for scripts/prove; ctest has the mix of them (fast_families_test.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "gpu/fast_families.h"
#include "gpu/fast_runs.h"

namespace forge::testing {
namespace {

enum class Axis : std::uint8_t {
  batched,
  chunked,
  prefix_hits,
  recomputed,
  swapped,
  speculated,
  block_sizes,
  graphs
};
constexpr Names<Axis> names_of(Axis) {
  return {"batched", "chunked",    "prefix_hits", "recomputed",
          "swapped", "speculated", "block_sizes", "graphs"};
}
std::ostream& operator<<(std::ostream& out, Axis axis) { return out << name_of(axis); }

/// Room for requests side by side, in one chunk each, without a prefix cache.
SchedulerConfig ample(std::uint32_t requests, std::uint32_t block_size = 16) {
  return {.cache = {.num_blocks = requests * (700 / block_size + 1), .block_size = block_size},
          .batch = {.max_batch_size = requests, .max_batch_tokens = 1024},
          .prefill_chunk_size = 1024,
          .prefix_cache = PrefixCacheKind::none};
}

class FastAxes : public ::testing::TestWithParam<std::tuple<FastShape, Axis>> {
 protected:
  Request request(std::uint32_t prompt, std::uint32_t seed, std::uint32_t new_tokens) const {
    return request_of(model_.config().vocabulary_size, prompt, seed, new_tokens);
  }
  std::vector<Request> four() const {
    return {request(11, 0, 9), request(18, 1, 12), request(25, 2, 15), request(32, 3, 9)};
  }

  /// Each by itself. The requests that what follows is about.
  void take(const std::vector<Request>& requests) {
    requests_ = requests;
    alone_.clear();
    for (const Request& one : requests) {
      alone_.push_back(run(model_.on_gpu(), {.scheduler = roomy(16)}, {one}).of.front());
    }
  }

  /// Returns: what the run had in it.
  Events expect_as_alone(const Place& place) {
    const Outputs outputs = run(model_.on_gpu(), place, requests_);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      EXPECT_EQ(outputs.of[i], alone_[i]) << "request " << i;
    }
    return outputs.events;
  }

  void expect_batched();
  void expect_chunked();
  void expect_prefix_hits();
  void expect_preempted(PreemptionPolicy preemption);
  void expect_speculated();
  void expect_block_sizes();
  void expect_graphs();

  FastModel model_{std::get<FastShape>(GetParam()).config, quant::WeightType::bf16};
  std::vector<Request> requests_;
  std::vector<Output> alone_;
};

/// Nothing but what `axis` is for happened.
void expect_only(Axis axis, const Events& events) {
  EXPECT_EQ(events.chunks > 0, axis == Axis::chunked);
  EXPECT_EQ(events.prefix_hits > 0, axis == Axis::prefix_hits);
  EXPECT_EQ(events.recomputes > 0, axis == Axis::recomputed);
  EXPECT_EQ(events.swaps_in > 0, axis == Axis::swapped);
  EXPECT_EQ(events.drafts > 0, axis == Axis::speculated);
}

/// Up to 18 rows decode in a step.
void FastAxes::expect_batched() {
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 18; ++i) requests.push_back(request(3 + i % 5, i, 19));
  take(requests);
  for (const std::uint32_t size : {2U, 9U, 18U}) {
    expect_only(Axis::batched, expect_as_alone({.scheduler = ample(size)}));
  }
}

/// At every cut of a short prompt, and in a long one of three spans around the ends of spans.
void FastAxes::expect_chunked() {
  const auto expect_in_chunks = [&](std::uint32_t size) {
    SCOPED_TRACE(::testing::Message() << "chunks of " << size);
    SchedulerConfig scheduler = ample(1);
    scheduler.prefill_chunk_size = size;
    expect_only(Axis::chunked, expect_as_alone({.scheduler = scheduler}));
  };
  take({request(33, 0, 4)});
  for (std::uint32_t size = 1; size < 33; ++size) expect_in_chunks(size);
  take({request(550, 0, 2)});
  for (const std::uint32_t size : {101U, 255U, 256U, 257U}) expect_in_chunks(size);
}

/// After a prompt with which it shares each number of whole blocks, found either way.
void FastAxes::expect_prefix_hits() {
  constexpr std::uint32_t kBlockSize = 4;
  const Request first = request(33, 0, 4);
  for (std::uint32_t shared = kBlockSize; shared < 33; shared += kBlockSize) {
    Request second = request(33, 5, 4);
    std::copy_n(first.prompt.begin(), shared, second.prompt.begin());
    take({first, second});
    for (const PrefixCacheKind kind : {PrefixCacheKind::radix, PrefixCacheKind::hash}) {
      SCOPED_TRACE(::testing::Message() << shared << " tokens, " << name_of(kind));
      SchedulerConfig scheduler = ample(2, kBlockSize);
      scheduler.prefix_cache = kind;
      expect_only(Axis::prefix_hits, expect_as_alone({.scheduler = scheduler}));
    }
  }
}

void FastAxes::expect_preempted(PreemptionPolicy preemption) {
  const bool swaps = preemption == PreemptionPolicy::swap;
  take(four());
  Events events;
  for (std::uint32_t blocks = 12; blocks < 24; blocks += 2) {
    SCOPED_TRACE(::testing::Message() << blocks << " blocks");
    SchedulerConfig scheduler = ample(4, 4);
    scheduler.cache.num_blocks = blocks;
    scheduler.cache.num_host_blocks = swaps ? 40 : 0;
    scheduler.preemption = preemption;
    events.add(expect_as_alone({.scheduler = scheduler}));
  }
  expect_only(swaps ? Axis::swapped : Axis::recomputed, events);
}

void FastAxes::expect_speculated() {
  take(four());
  for (const std::uint32_t drafts : {1U, 2U, 3U, 7U}) {
    SCOPED_TRACE(::testing::Message() << drafts << " drafts");
    expect_only(Axis::speculated, expect_as_alone({.drafts = drafts, .scheduler = ample(4)}));
  }
}

void FastAxes::expect_block_sizes() {
  take(four());
  for (const std::uint32_t size : {1U, 2U, 3U, 5U, 8U, 16U, 33U, 64U, 256U}) {
    SCOPED_TRACE(::testing::Message() << "blocks of " << size);
    expect_only(Axis::block_sizes, expect_as_alone({.scheduler = ample(4, size)}));
  }
}

/// As graphs or not, overlapping or not, all rows at once or a few.
void FastAxes::expect_graphs() {
  take(four());
  for (const bool graphs : {false, true}) {
    for (const bool overlap : {false, true}) {
      for (const std::uint32_t rows : {7U, 512U}) {
        const gpu::GpuOptions options{.graphs = graphs, .overlap = overlap, .chunk_rows = rows};
        SCOPED_TRACE(::testing::Message()
                     << "graphs " << graphs << " overlap " << overlap << " rows " << rows);
        expect_only(Axis::graphs, expect_as_alone({.gpu = options, .scheduler = ample(4)}));
      }
    }
  }
}

TEST_P(FastAxes, leave_requests_as_they_are_alone) {
  switch (std::get<Axis>(GetParam())) {
    case Axis::batched:
      return expect_batched();
    case Axis::chunked:
      return expect_chunked();
    case Axis::prefix_hits:
      return expect_prefix_hits();
    case Axis::recomputed:
      return expect_preempted(PreemptionPolicy::recompute);
    case Axis::swapped:
      return expect_preempted(PreemptionPolicy::swap);
    case Axis::speculated:
      return expect_speculated();
    case Axis::block_sizes:
      return expect_block_sizes();
    case Axis::graphs:
      return expect_graphs();
  }
}

std::vector<Axis> all_axes() {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < Names<Axis>::kCount; ++i) axes.push_back(static_cast<Axis>(i));
  return axes;
}

INSTANTIATE_TEST_SUITE_P(Of, FastAxes,
                         ::testing::Combine(::testing::ValuesIn(family_shapes()),
                                            ::testing::ValuesIn(all_axes())),
                         [](const auto& of) {
                           return "sim_" + std::get<FastShape>(of.param).name + "_by_" +
                                  std::string(name_of(std::get<Axis>(of.param)));
                         });

}  // namespace
}  // namespace forge::testing
