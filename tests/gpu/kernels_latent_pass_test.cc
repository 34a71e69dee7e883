// project_heads, and a whole pass of latent attention with it: the bits of latent_attention
// (model/latent_attention.h), of what comes out and of what the pool then holds.
#include <algorithm>

#include "forge/model/latent_attention.h"
#include "gpu/kernel_rig.h"
#include "gpu/packed_weights.h"

namespace forge::gpu {
namespace {

std::size_t floats_in(int a, int b, int c = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

class ProjectHeads : public KernelTest {
 protected:
  struct Case {
    int rows;
    int heads;
    int inputs;
    int outputs;
    int x_gap = 0;  ///< floats after the inputs of a head
    int y_gap = 0;  ///< likewise after the outputs, which stay as they are
    WeightKind kind = WeightKind::f32;
  };

  void expect(const Case& c) const {
    SCOPED_TRACE(testing::Message() << "rows " << c.rows << " H " << c.heads << " K " << c.inputs
                                    << " N " << c.outputs << " gaps " << c.x_gap << " " << c.y_gap);
    Random random(floats_in(c.rows, c.heads, c.inputs + 10 * c.outputs));
    const int x_stride = c.inputs + c.x_gap;
    const int y_stride = c.outputs + c.y_gap;
    const std::vector<float> x = random.reals(floats_in(c.rows, c.heads, x_stride));
    const std::vector<float> before = random.reals(floats_in(c.rows + 1, c.heads, y_stride));
    std::vector<float> after = before;
    linear::ThreadPool pool(1);
    linear::ProductScratch scratch;
    std::vector<linear::LinearWeights> matrices;
    for (int head = 0; head < c.heads; ++head) {
      const std::vector<float> weights = random.reals(floats_in(c.outputs, c.inputs));
      matrices.push_back(packed({&weights}, c.inputs, c.kind, pool));
      for (int row = 0; row < c.rows; ++row) {
        const int index = row * c.heads + head;
        linear::multiply({x.data() + floats_in(index, x_stride), 1}, matrices.back(),
                         after.data() + floats_in(index, y_stride), scratch, pool);
      }
    }
    const auto rig = this->rig(random.word());
    const std::vector<std::uint32_t> row_count{static_cast<std::uint32_t>(c.rows)};
    const ProjectHeadsArgs args{.row_count = rig->input("row_count", row_count),
                                .x = rig->input("x", x),
                                .panels = rig->input("panels", panels_of(matrices)),
                                .y = rig->output("y", before, after),
                                .heads = c.heads,
                                .inputs = c.inputs,
                                .outputs = c.outputs,
                                .x_stride = x_stride,
                                .y_stride = y_stride,
                                .kind = c.kind};
    rig->expect(launch_of(args, args.shape(c.rows + 9)));
  }
};
FORGE_KERNEL_TEST_TARGETS(ProjectHeads);

TEST_P(ProjectHeads, RowsAndHeadsOfAnyNumber) {
  for (const int rows : {1, 2, 8, 9, 20}) {
    for (const int heads : {1, 3}) expect({rows, heads, 40, 40, 5, 3});
  }
  expect({.rows = 0, .heads = 2, .inputs = 8, .outputs = 8});
}

TEST_P(ProjectHeads, InputsAndOutputsOfEveryTail) {
  for (const int inputs : {1, 9, 255, 257}) expect({3, 2, inputs, 33, 1, 0});
  for (const int outputs : {1, 31, 32, 65}) expect({3, 2, 24, outputs, 0, 1});
}

TEST_P(ProjectHeads, WeightsOf16Bits) {
  for (const WeightKind kind : {WeightKind::f16, WeightKind::bf16}) {
    for (const int inputs : {1, 15, 257}) expect({9, 2, inputs, 33, 1, 2, kind});
  }
}

// ---- A pass -------------------------------------------------------------------------------------

/// The prompt of one sequence and the next token of another.
class LatentPass : public KernelTest {
 protected:
  static constexpr int kBlockSize = 8;
  static constexpr int kPrompt = 11;
  static constexpr int kDecoded = 19;  ///< position of the other sequence's token
  static constexpr int kRows = kPrompt + 1;
  static constexpr int kHidden = 72;

  static model::ModelConfig config_of(const model::LatentConfig& latent,
                                      model::RopePairing pairing) {
    model::ModelConfig config;
    config.hidden_size = kHidden;
    config.layers = 2;
    config.attention = latent;
    config.attention_scale = 0.2f;
    config.rope = {.size = latent.rope_size, .pairing = pairing};
    return config;
  }
  static model::PackedLatent weights_of(const model::LatentConfig& c, WeightKind kind,
                                        Random& random, linear::ThreadPool& pool) {
    const auto matrix = [&](int outputs, int inputs) {
      const std::vector<float> floats = random.reals(floats_in(outputs, inputs), 0.5f);
      return packed({&floats}, inputs, kind, pool);
    };
    model::PackedLatent w;
    if (c.query_rank > 0) {
      w.query_down = matrix(c.query_rank, kHidden);
      w.query_norm = random.reals(floats_in(c.query_rank, 1));
    }
    w.query_up =
        matrix(c.heads * (c.nope_size + c.rope_size), c.query_rank > 0 ? c.query_rank : kHidden);
    w.kv_down = matrix(c.kv_rank + c.rope_size, kHidden);
    w.kv_norm = random.reals(floats_in(c.kv_rank, 1));
    for (int head = 0; head < c.heads; ++head) {
      w.key_up.push_back(matrix(c.kv_rank, c.nope_size));
      w.value_up.push_back(matrix(c.value_size, c.kv_rank));
    }
    w.output = matrix(kHidden, c.heads * c.value_size);
    return w;
  }
  static std::vector<float> floats_of(const model::KvPool& pool) {
    const std::uint32_t first = 0;
    const auto start = pool.latent_view(0, {&first, 1}, 1, 1);
    return {start.rows, start.rows + pool.num_blocks() * start.block_stride};
  }

  void expect(const model::LatentConfig& c, model::RopePairing pairing, WeightKind kind) const;
};
FORGE_KERNEL_TEST_TARGETS(LatentPass);

void LatentPass::expect(const model::LatentConfig& c, model::RopePairing pairing,
                        WeightKind kind) const {
  constexpr int kLayer = 1;
  const model::ModelConfig config = config_of(c, pairing);
  const int width = c.kv_rank + c.rope_size;
  Random random(1);
  linear::ThreadPool threads(1);
  const model::PackedLatent weights = weights_of(c, kind, random, threads);
  const std::vector<std::uint32_t> tables{4, 2, 0xffffffff, 0, 3, 1};  // [2][3]
  model::KvPool pool(
      {.layers = 2, .heads = 1, .head_size = width, .layout = model::KvLayout::latent}, 5,
      kBlockSize);
  const std::vector<std::span<const std::uint32_t>> spans{{tables.data(), 2}, {&tables[3], 3}};
  for (std::uint32_t j = 0; j < kDecoded; ++j) {
    pool.store_latent(kLayer, spans[1], j, random.reals(floats_in(width, 1)).data());
  }
  const std::vector<float> pool_before = floats_of(pool);

  std::vector<TokenId> tokens(kRows);
  std::vector<std::uint32_t> positions, sequences;
  std::vector<RowInput> rows;
  for (std::uint32_t i = 0; i < kRows; ++i) {
    const RowInput row = i < kPrompt ? RowInput{.position = i, .table = 0}
                                     : RowInput{.position = kDecoded, .table = 1};
    rows.push_back(row);
    positions.push_back(row.position);
    sequences.push_back(row.table);
  }
  const std::vector<float> x = random.reals(floats_in(kRows, kHidden));
  std::vector<float> expected(x.size());
  model::Workers workers(threads);
  model::RotaryTable rotary(config.rope);
  rotary.ensure(kDecoded + 1);
  model::LatentScratch scratch;
  const model::ForwardBatch batch{tokens, positions, sequences, spans, {}};
  model::latent_attention(weights, {config, kLayer, batch, pool, rotary, workers}, x.data(),
                          expected.data(), scratch);

  const auto rig = this->rig();
  const auto room = [&](const char* name, int size) {
    return rig->input(name, std::vector<float>(floats_in(kRows, size)));
  };
  const PassCounts* counts = rig->input("counts", std::vector<PassCounts>{{.rows = kRows}});
  const auto project = [&](const char* name, const linear::LinearWeights& w, const float* from,
                           float* to) {
    const ProjectArgs args{.row_count = &counts->rows,
                           .x = from,
                           .panels = rig->input(name, panels_of(w)),
                           .y = to,
                           .inputs = w.inputs(),
                           .outputs = w.outputs(),
                           .accumulate = false,
                           .kind = kind};
    return launch_of(args, args.shape(kRows));
  };
  std::vector<KernelLaunch> launches;
  const float* hidden = rig->input("x", x);
  const float* query_inputs = hidden;
  if (c.query_rank > 0) {
    float* latent = room("query latent", c.query_rank);
    launches.push_back(project("query_down", weights.query_down, hidden, latent));
    const RmsNormArgs norm{.counts = counts,
                           .logits = nullptr,
                           .x = latent,
                           .weight = rig->input("query_norm", weights.query_norm),
                           .y = latent,
                           .size = c.query_rank,
                           .eps = c.latent_norm_eps};
    launches.push_back(launch_of(norm, norm.shape(kRows)));
    query_inputs = latent;
  }
  const int head_size = c.nope_size + c.rope_size;
  float* queries = room("queries", c.heads * head_size);
  float* products = room("products", width);
  launches.push_back(project("query_up", weights.query_up, query_inputs, queries));
  launches.push_back(project("kv_down", weights.kv_down, hidden, products));

  const ProjectHeadsArgs absorb{.row_count = &counts->rows,
                                .x = queries,
                                .panels = rig->input("key_up", panels_of(weights.key_up)),
                                .y = room("absorbed", c.heads * width),
                                .heads = c.heads,
                                .inputs = c.nope_size,
                                .outputs = c.kv_rank,
                                .x_stride = head_size,
                                .y_stride = width,
                                .kind = kind};
  launches.push_back(launch_of(absorb, absorb.shape(kRows)));

  const LatentAttentionInput in{
      .counts = counts,
      .rows = rig->input("rows", rows),
      .queries = absorb.y,
      .out = room("sums", c.heads * c.kv_rank),
      .latents = {.pool = rig->output("pool", pool_before, floats_of(pool)) +
                          floats_in(kLayer, width, kBlockSize),
                  .block_stride = floats_in(2, width, kBlockSize),
                  .tables = rig->input("tables", tables),
                  .table_stride = 3,
                  .block_size = kBlockSize,
                  .latent_size = c.kv_rank,
                  .rope_size = c.rope_size},
      .heads = c.heads,
      .scale = config.attention_scale};
  const std::vector<float> angles(rotary.cos(0), rotary.cos(kDecoded + 1));
  const StoreLatentArgs store{.counts = counts,
                              .rows = in.rows,
                              .rotary = rig->input("rotary", angles),
                              .norm = rig->input("kv_norm", weights.kv_norm),
                              .products = products,
                              .queries = queries,
                              .absorbed = absorb.y,
                              .latents = in.latents,
                              .heads = c.heads,
                              .nope_size = c.nope_size,
                              .eps = c.latent_norm_eps,
                              .adjacent = pairing == model::RopePairing::adjacent};
  launches.push_back(launch_of(store, store.shape(kRows)));
  const AttendLatentArgs attend{in};
  launches.push_back(launch_of(attend, attend.shape(kRows)));

  const ProjectHeadsArgs values{.row_count = &counts->rows,
                                .x = in.out,
                                .panels = rig->input("value_up", panels_of(weights.value_up)),
                                .y = room("values", c.heads * c.value_size),
                                .heads = c.heads,
                                .inputs = c.kv_rank,
                                .outputs = c.value_size,
                                .x_stride = c.kv_rank,
                                .y_stride = c.value_size,
                                .kind = kind};
  launches.push_back(launch_of(values, values.shape(kRows)));
  launches.push_back(project("output", weights.output, values.y, rig->output("out", expected)));
  rig->expect(launches);
}

TEST_P(LatentPass, HasTheBitsOfTheCpu) {
  const model::LatentConfig latent{.heads = 3,
                                   .query_rank = 24,
                                   .kv_rank = 40,
                                   .nope_size = 12,
                                   .rope_size = 8,
                                   .value_size = 10};
  for (const WeightKind kind : {WeightKind::f32, WeightKind::f16, WeightKind::bf16}) {
    expect(latent, model::RopePairing::adjacent, kind);
  }
  model::LatentConfig without_query_latent = latent;
  without_query_latent.query_rank = 0;
  expect(without_query_latent, model::RopePairing::halves, WeightKind::f32);
}

}  // namespace
}  // namespace forge::gpu
