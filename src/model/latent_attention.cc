#include "forge/model/latent_attention.h"

#include <algorithm>
#include <span>

#include "forge/numerics/latent_attention.h"
#include "forge/numerics/vector_ops.h"
#include "room.h"

namespace forge::model {
namespace {

using detail::offset;
using detail::room;

/// Heads of rows: head h of row t starts at data + t * row_stride + h * head_stride.
template <class Float>
struct HeadRows {
  Float* data;
  int row_stride;
  int head_stride;

  Float* at(int row, int head) const { return data + offset(row, row_stride) + head * head_stride; }

  /// Those of one head, which becomes head 0.
  HeadRows of(int head) const { return {at(0, head), row_stride, head_stride}; }
};

const LatentConfig& config_of(const AttentionPass& pass) {
  return std::get<LatentConfig>(pass.config.attention);
}

/// y(t, 0) = W x(t, 0) for rows t, on this thread.
void multiply_head(const linear::LinearWeights& w, int rows, HeadRows<const float> x,
                   HeadRows<float> y, HeadScratch& scratch) {
  float* inputs = room(scratch.x, rows, w.inputs());
  float* outputs = room(scratch.y, rows, w.outputs());
  for (int row = 0; row < rows; ++row) {
    std::copy_n(x.at(row, 0), w.inputs(), inputs + offset(row, w.inputs()));
  }
  linear::ThreadPool alone(1);
  linear::multiply({inputs, rows}, w, outputs, scratch.products, alone);
  for (int row = 0; row < rows; ++row) {
    std::copy_n(outputs + offset(row, w.outputs()), w.outputs(), y.at(row, 0));
  }
}

/// Products with a matrix for each head.
struct HeadProducts {
  Operation operation;
  std::span<const linear::LinearWeights> weights;  ///< [H]
};

/// y(t, h) = W_h x(t, h). Heads are dealt out to parts, not taken: so each part's scratch has seen
/// what it will ever see after one pass.
void multiply_heads(const HeadProducts& products, const AttentionPass& pass,
                    HeadRows<const float> x, HeadRows<float> y, std::vector<HeadScratch>& scratch) {
  const auto heads = static_cast<int>(products.weights.size());
  const int parts = std::min(heads, pass.workers.threads());
  if (scratch.size() < static_cast<std::size_t>(parts)) {
    scratch.resize(static_cast<std::size_t>(parts));
  }
  const auto multiply_part = [&](int part) {
    HeadScratch& own = scratch[static_cast<std::size_t>(part)];
    for (int head = part; head < heads; head += parts) {
      multiply_head(products.weights[static_cast<std::size_t>(head)], pass.batch.rows(), x.of(head),
                    y.of(head), own);
    }
  };
  pass.workers.run(products.operation, parts, multiply_part, [&] {
    Work work;
    for (const linear::LinearWeights& w : products.weights)
      work += product_work(pass.batch.rows(), w);
    return work;
  });
}

/// query [T][H (N + R)], turned.
const float* make_queries(const PackedLatent& weights, const AttentionPass& pass, Rows x,
                          LatentScratch& scratch) {
  const LatentConfig& c = config_of(pass);
  const int head_size = c.nope_size + c.rope_size;
  float* query = room(scratch.query, x.count, c.heads * head_size);
  if (c.query_rank > 0) {
    const int Q = c.query_rank;
    float* latent = room(scratch.query_latent, x.count, Q);
    pass.workers.multiply(Operation::query, x, weights.query_down, latent);
    pass.workers.for_rows(Operation::norm, x.count, [&](int row) {
      float* y = latent + offset(row, Q);
      numerics::rms_norm(y, weights.query_norm.data(), Q, c.latent_norm_eps, y);
    });
    x.data = latent;
  }
  pass.workers.multiply(Operation::query, x, weights.query_up, query);
  pass.workers.for_rows(Operation::rotation, x.count, [&](int row) {
    for (int head = 0; head < c.heads; ++head) {
      pass.rotate(query + offset(row, c.heads * head_size) + head * head_size + c.nope_size,
                  pass.batch.position(row));
    }
  });
  return query;
}

void write_latents(const PackedLatent& weights, const AttentionPass& pass, Rows x,
                   LatentScratch& scratch) {
  const LatentConfig& c = config_of(pass);
  const int width = c.kv_rank + c.rope_size;
  float* latents = room(scratch.row, x.count, width);
  pass.workers.multiply(Operation::kv_down, x, weights.kv_down, latents);
  pass.workers.for_rows(Operation::rotation, x.count, [&](int row) {
    float* latent = latents + offset(row, width);
    numerics::rms_norm(latent, weights.kv_norm.data(), c.kv_rank, c.latent_norm_eps, latent);
    pass.rotate(latent + c.kv_rank, pass.batch.position(row));
    pass.pool.store_latent(pass.layer, pass.batch.table(row), pass.batch.position(row), latent);
  });
}

/// absorbed [T][H][C + R]: key_up^T of the components that do not turn, then those that do.
const float* absorb(const PackedLatent& weights, const AttentionPass& pass, const float* query,
                    LatentScratch& scratch) {
  const LatentConfig& c = config_of(pass);
  const int rows = pass.batch.rows();
  const int width = c.kv_rank + c.rope_size;
  const int head_size = c.nope_size + c.rope_size;
  const HeadRows<const float> from = {query, c.heads * head_size, head_size};
  const HeadRows<float> to = {room(scratch.absorbed, rows, c.heads * width), c.heads * width,
                              width};
  multiply_heads({Operation::absorb, weights.key_up}, pass, from, to, scratch.heads);
  pass.workers.for_rows(Operation::absorb, rows, [&](int row) {
    for (int head = 0; head < c.heads; ++head) {
      std::copy_n(from.at(row, head) + c.nope_size, c.rope_size, to.at(row, head) + c.kv_rank);
    }
  });
  return to.data;
}

Work latent_work(const AttentionPass& pass) {
  const LatentConfig& c = config_of(pass);
  const double width = c.kv_rank + c.rope_size;
  const auto bytes = static_cast<double>(bytes_of(pass.pool.type()));
  return pass.work(0, 2.0 * c.heads * (width + c.kv_rank), bytes * width);
}

/// sums [T][H][C] of latents. A part is some heads of one row.
const float* attend(const AttentionPass& pass, const float* absorbed, LatentScratch& scratch) {
  constexpr int kHeadsOfPart = 16;  // as many as attend_latent takes side by side
  const LatentConfig& c = config_of(pass);
  const int rows = pass.batch.rows();
  const int width = c.kv_rank + c.rope_size;
  float* sums = room(scratch.sums, rows, c.heads * c.kv_rank);
  const int parts_of_row = (c.heads + kHeadsOfPart - 1) / kHeadsOfPart;
  const auto attend_part = [&](int part) {
    const int row = part / parts_of_row;
    const int head = part % parts_of_row * kHeadsOfPart;
    const auto latents = pass.pool.latent_view(pass.layer, pass.batch.table(row),
                                               pass.batch.position(row) + 1, c.kv_rank);
    numerics::attend_latent({absorbed + offset(row, c.heads * width) + head * width,
                             std::min(kHeadsOfPart, c.heads - head), pass.config.attention_scale},
                            latents, sums + offset(row, c.heads * c.kv_rank) + head * c.kv_rank);
  };
  pass.workers.run(Operation::attention, rows * parts_of_row, attend_part,
                   [&] { return latent_work(pass); });
  return sums;
}

}  // namespace

void latent_attention(const PackedLatent& weights, const AttentionPass& pass, const float* x,
                      float* out, LatentScratch& scratch) {
  const LatentConfig& c = config_of(pass);
  const Rows rows = {x, pass.batch.rows()};
  const float* query = make_queries(weights, pass, rows, scratch);
  write_latents(weights, pass, rows, scratch);
  const float* sums = attend(pass, absorb(weights, pass, query, scratch), scratch);
  float* values = room(scratch.values, rows.count, c.heads * c.value_size);
  multiply_heads({Operation::value_up, weights.value_up}, pass,
                 {sums, c.heads * c.kv_rank, c.kv_rank},
                 {values, c.heads * c.value_size, c.value_size}, scratch.heads);
  pass.workers.multiply(Operation::output, {values, rows.count}, weights.output, out);
}

}  // namespace forge::model
