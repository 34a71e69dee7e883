#include "forge/model/grouped_query.h"

#include <algorithm>

#include "forge/numerics/attention.h"
#include "forge/numerics/vector_ops.h"
#include "room.h"

namespace forge::model {
namespace {

using detail::offset;
using detail::room;

void norm(const std::vector<float>& weight, float eps, float* x) {
  numerics::rms_norm(x, weight.data(), static_cast<int>(weight.size()), eps, x);
}

/// Bias, norms and rotation of one row [(H + 2 Hkv) D], and its keys and values into the pool.
void finish_row(const PackedGroupedQuery& weights, const AttentionPass& pass, int row, float* qkv) {
  const auto& c = std::get<GroupedQueryConfig>(pass.config.attention);
  const int D = c.head_size;
  float* keys = qkv + c.heads * D;
  float* values = keys + c.kv_heads * D;
  if (!weights.qkv_bias.empty()) {
    numerics::add(qkv, weights.qkv_bias.data(), static_cast<int>(weights.qkv_bias.size()));
  }
  if (c.query_key_norm == QueryKeyNorm::row) {
    norm(weights.query_norm, pass.config.norm_eps, qkv);
    norm(weights.key_norm, pass.config.norm_eps, keys);
  }
  for (int head = 0; head < c.heads + c.kv_heads; ++head) {
    float* part = qkv + head * D;
    if (c.query_key_norm == QueryKeyNorm::head) {
      norm(head < c.heads ? weights.query_norm : weights.key_norm, pass.config.norm_eps, part);
    }
    pass.rotate(part, pass.batch.position(row));
  }
  for (int head = 0; head < c.kv_heads; ++head) {
    pass.pool.store({pass.layer, head}, pass.batch.table(row), pass.batch.position(row),
                    keys + head * D, values + head * D);
  }
}

/// The query heads `group` of one KV head, of one row. out: [H / Hkv][D].
void attend(const AttentionPass& pass, int row, int head, const numerics::QueryGroup& group,
            float* out) {
  const auto& c = std::get<GroupedQueryConfig>(pass.config.attention);
  numerics::PagedKV kv =
      pass.pool.view({pass.layer, head}, pass.batch.table(row), pass.batch.position(row) + 1);
  const int window = window_of(c, pass.layer);
  if (window > 0) kv.first = std::max(0, kv.length - window);
  numerics::attend(group, kv, out);
}

Work grouped_work(const AttentionPass& pass) {
  const auto& c = std::get<GroupedQueryConfig>(pass.config.attention);
  const double of_key = 2.0 * c.head_size;  // and as much of its value
  const auto bytes = static_cast<double>(bytes_of(pass.pool.type()));
  return pass.work(window_of(c, pass.layer), 2 * of_key * c.heads,
                   2 * bytes * c.head_size * c.kv_heads);
}

}  // namespace

void grouped_query_attention(const PackedGroupedQuery& weights, const AttentionPass& pass,
                             const float* x, float* out, GroupedQueryScratch& scratch) {
  const auto& c = std::get<GroupedQueryConfig>(pass.config.attention);
  Workers& workers = pass.workers;
  const int rows = pass.batch.rows();
  const int group_width = c.heads / c.kv_heads * c.head_size;
  const int attended_width = c.heads * c.head_size;
  const int qkv_width = attended_width + 2 * c.kv_heads * c.head_size;
  float* qkv = room(scratch.qkv, rows, qkv_width);
  float* attended = room(scratch.attended, rows, attended_width);

  workers.multiply(Operation::qkv, {x, rows}, weights.qkv, qkv);
  workers.for_rows(Operation::rotation, rows,
                   [&](int row) { finish_row(weights, pass, row, qkv + offset(row, qkv_width)); });
  // Rows of one KV head come one after the other: they read the same keys and values.
  const auto attend_part = [&](int part) {
    const int row = part % rows;
    const int head = part / rows;
    const float* const q = qkv + offset(row, qkv_width) + head * group_width;
    const int heads = c.heads / c.kv_heads;
    const float* const sinks = c.sinks ? weights.sinks.data() + head * heads : nullptr;
    attend(pass, row, head, {q, heads, pass.config.attention_scale, c.score_cap, sinks},
           attended + offset(row, attended_width) + head * group_width);
  };
  workers.run(Operation::attention, rows * c.kv_heads, attend_part,
              [&] { return grouped_work(pass); });
  workers.multiply(Operation::output, {attended, rows}, weights.output, out);
  if (weights.output_bias.empty()) return;
  const int d = weights.output.outputs();
  workers.for_rows(Operation::output, rows, [&](int row) {
    numerics::add(out + offset(row, d), weights.output_bias.data(), d);
  });
}

}  // namespace forge::model
