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
    linear::PanelKind kind = linear::PanelKind::f32;
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
                                .matrix_bytes = matrices.front().bytes(),
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
  for (const linear::PanelKind kind : {linear::PanelKind::f16, linear::PanelKind::bf16}) {
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
  static model::PackedLatent weights_of(const model::LatentConfig& c, linear::PanelKind kind,
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
  static std::vector<RowInput> rows() {
    std::vector<RowInput> rows(kRows, {.position = kDecoded, .table = 1});
    for (std::uint32_t i = 0; i < kPrompt; ++i) rows[i] = {.position = i, .table = 0};
    return rows;
  }
  static std::vector<float> floats_of(const model::KvPool& pool) {
    const std::uint32_t first = 0;
    const auto start = pool.latent_view(0, {&first, 1}, 1, 1);
    const auto* rows = static_cast<const float*>(start.rows);
    return {rows, rows + pool.num_blocks() * start.block_stride};
  }

  /// What the CPU reads and makes.
  struct OnCpu {
    model::ModelConfig config;
    model::PackedLatent weights;
    std::vector<float> x;
    std::vector<float> out;
    std::vector<float> angles;
    std::vector<float> pool_before;
    std::vector<float> pool_after;
  };
  static OnCpu run_on_cpu(const model::LatentConfig& c, model::RopePairing pairing,
                          linear::PanelKind kind);

  /// Kernels in their order, on memory of a rig.
  struct Queue {
    KernelRig& rig;
    linear::PanelKind kind;
    const PassCounts* counts;
    std::vector<KernelLaunch> launches;

    template <class Args>
    void add(const Args& args) {
      launches.push_back(launch_of(args, args.shape(kRows)));
    }
    float* room(const char* name, int size) const {
      return rig.input(name, std::vector<float>(floats_in(kRows, size)));
    }
    void project(const char* name, const linear::LinearWeights& w, const float* x, float* y) {
      add(ProjectArgs{.row_count = &counts->rows,
                      .x = x,
                      .panels = rig.input(name, panels_of(w)),
                      .y = y,
                      .inputs = w.inputs(),
                      .outputs = w.outputs(),
                      .accumulate = false,
                      .kind = kind});
    }
    /// `x_stride` and `y_stride`: floats of a head.
    void project_heads(const char* name, const std::vector<linear::LinearWeights>& heads,
                       const float* x, int x_stride, float* y, int y_stride) {
      add(ProjectHeadsArgs{.row_count = &counts->rows,
                           .x = x,
                           .panels = rig.input(name, panels_of(heads)),
                           .matrix_bytes = heads.front().bytes(),
                           .y = y,
                           .heads = static_cast<int>(heads.size()),
                           .inputs = heads.front().inputs(),
                           .outputs = heads.front().outputs(),
                           .x_stride = x_stride,
                           .y_stride = y_stride,
                           .kind = kind});
    }
  };

  static float* make_queries(const OnCpu& cpu, const float* x, Queue& queue);
  static float* attend(const OnCpu& cpu, const float* x, float* queries, Queue& queue);
  void expect(const model::LatentConfig& c, model::RopePairing pairing,
              linear::PanelKind kind) const;

  static constexpr int kLayer = 1;
  static constexpr std::uint32_t kTables[] = {4, 2, 0xffffffff, 0, 3, 1};  // [2][3]
};
FORGE_KERNEL_TEST_TARGETS(LatentPass);

LatentPass::OnCpu LatentPass::run_on_cpu(const model::LatentConfig& c, model::RopePairing pairing,
                                         linear::PanelKind kind) {
  OnCpu cpu{.config = config_of(c, pairing)};
  const int width = c.kv_rank + c.rope_size;
  Random random(1);
  linear::ThreadPool threads(1);
  cpu.weights = weights_of(c, kind, random, threads);
  model::KvPool pool(
      {.layers = 2, .heads = 1, .head_size = width, .layout = model::KvLayout::latent}, 5,
      kBlockSize);
  const std::vector<std::span<const std::uint32_t>> spans{{kTables, 2}, {kTables + 3, 3}};
  for (std::uint32_t j = 0; j < kDecoded; ++j) {
    pool.store_latent(kLayer, spans[1], j, random.reals(floats_in(width, 1)).data());
  }
  cpu.pool_before = floats_of(pool);
  std::vector<std::uint32_t> positions, sequences;
  for (const RowInput& row : rows()) {
    positions.push_back(row.position);
    sequences.push_back(row.table);
  }
  cpu.x = random.reals(floats_in(kRows, kHidden));
  cpu.out.resize(cpu.x.size());
  model::Workers workers(threads);
  model::RotaryTable rotary(cpu.config.rope);
  rotary.ensure(kDecoded + 1);
  model::LatentScratch scratch;
  const std::vector<TokenId> tokens(kRows);
  const model::ForwardBatch batch{tokens, positions, sequences, spans, {}};
  model::latent_attention(cpu.weights, {cpu.config, kLayer, batch, pool, &rotary, workers},
                          cpu.x.data(), cpu.out.data(), scratch);
  cpu.angles.assign(rotary.cos(0), rotary.cos(kDecoded + 1));
  cpu.pool_after = floats_of(pool);
  return cpu;
}

/// Returns the queries, [rows][H (N + R)].
float* LatentPass::make_queries(const OnCpu& cpu, const float* x, Queue& queue) {
  const auto& c = std::get<model::LatentConfig>(cpu.config.attention);
  if (c.query_rank > 0) {
    float* latent = queue.room("query latent", c.query_rank);
    queue.project("query_down", cpu.weights.query_down, x, latent);
    queue.add(RmsNormArgs{.counts = queue.counts,
                          .logits = nullptr,
                          .x = latent,
                          .weight = queue.rig.input("query_norm", cpu.weights.query_norm),
                          .y = latent,
                          .size = c.query_rank,
                          .eps = c.latent_norm_eps});
    x = latent;
  }
  float* queries = queue.room("queries", c.heads * (c.nope_size + c.rope_size));
  queue.project("query_up", cpu.weights.query_up, x, queries);
  return queries;
}

/// Stores the rows' latents and returns the sums of latents, [rows][H C].
float* LatentPass::attend(const OnCpu& cpu, const float* x, float* queries, Queue& queue) {
  const auto& c = std::get<model::LatentConfig>(cpu.config.attention);
  const int width = c.kv_rank + c.rope_size;
  float* products = queue.room("products", width);
  queue.project("kv_down", cpu.weights.kv_down, x, products);
  float* absorbed = queue.room("absorbed", c.heads * width);
  queue.project_heads("key_up", cpu.weights.key_up, queries, c.nope_size + c.rope_size, absorbed,
                      width);
  const LatentAttentionInput in{
      .counts = queue.counts,
      .rows = queue.rig.input("rows", rows()),
      .queries = absorbed,
      .out = queue.room("sums", c.heads * c.kv_rank),
      .latents = {.pool = queue.rig.output("pool", cpu.pool_before, cpu.pool_after) +
                          floats_in(kLayer, width, kBlockSize),
                  .block_stride = floats_in(2, width, kBlockSize),
                  .tables = queue.rig.input(
                      "tables", std::vector<std::uint32_t>(std::begin(kTables), std::end(kTables))),
                  .table_stride = 3,
                  .block_size = kBlockSize,
                  .latent_size = c.kv_rank,
                  .rope_size = c.rope_size},
      .heads = c.heads,
      .scale = cpu.config.attention_scale};
  queue.add(StoreLatentArgs{.counts = queue.counts,
                            .rows = in.rows,
                            .rotary = queue.rig.input("rotary", cpu.angles),
                            .norm = queue.rig.input("kv_norm", cpu.weights.kv_norm),
                            .products = products,
                            .queries = queries,
                            .absorbed = absorbed,
                            .latents = in.latents,
                            .heads = c.heads,
                            .nope_size = c.nope_size,
                            .eps = c.latent_norm_eps,
                            .adjacent = cpu.config.rope.pairing == model::RopePairing::adjacent});
  queue.add(AttendLatentArgs{in});
  return in.out;
}

void LatentPass::expect(const model::LatentConfig& c, model::RopePairing pairing,
                        linear::PanelKind kind) const {
  const OnCpu cpu = run_on_cpu(c, pairing, kind);
  const auto rig = this->rig();
  Queue queue{*rig, kind, rig->input("counts", std::vector<PassCounts>{{.rows = kRows}}), {}};
  const float* x = rig->input("x", cpu.x);
  float* queries = make_queries(cpu, x, queue);
  const float* sums = attend(cpu, x, queries, queue);
  float* values = queue.room("values", c.heads * c.value_size);
  queue.project_heads("value_up", cpu.weights.value_up, sums, c.kv_rank, values, c.value_size);
  queue.project("output", cpu.weights.output, values, rig->output("out", cpu.out));
  rig->expect(queue.launches);
}

TEST_P(LatentPass, HasTheBitsOfTheCpu) {
  const model::LatentConfig latent{.heads = 3,
                                   .query_rank = 24,
                                   .kv_rank = 40,
                                   .nope_size = 12,
                                   .rope_size = 8,
                                   .value_size = 10};
  for (const linear::PanelKind kind :
       {linear::PanelKind::f32, linear::PanelKind::f16, linear::PanelKind::bf16}) {
    expect(latent, model::RopePairing::adjacent, kind);
  }
  model::LatentConfig without_query_latent = latent;
  without_query_latent.query_rank = 0;
  expect(without_query_latent, model::RopePairing::halves, linear::PanelKind::f32);
}

}  // namespace
}  // namespace forge::gpu
