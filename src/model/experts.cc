#include "forge/model/experts.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "forge/core/check.h"
#include "forge/numerics/canonical.h"
#include "forge/numerics/vector_ops.h"
#include "room.h"

namespace forge::model {
namespace {

using detail::offset;
using detail::room;

constexpr float kLeftOut = -std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();  // of what is not left out

/// A rank, or a group's score, that has its place among others, NaN included.
float comparable(float rank) { return rank > kLowest ? rank : kLowest; }

int count(std::span<const float> values) { return static_cast<int>(values.size()); }

void products_to_scores(ExpertScore kind, std::span<float> z) {
  if (kind == ExpertScore::sigmoid) {
    for (float& x : z) x = numerics::divide(1.0F, 1.0F + numerics::exp(-x));
    return;
  }
  numerics::exp_minus(z.data(), numerics::max(z.data(), count(z)), count(z), z.data());
  const float sum = numerics::sum(z.data(), count(z));
  for (float& x : z) x = numerics::divide(x, sum);
}

/// The sum of the `best` (1 or 2) largest ranks.
float group_score(std::span<const float> ranks, int best) {
  float first = kLeftOut;
  float second = kLeftOut;
  for (const float rank : ranks) {
    if (rank > first) {
      second = first;
      first = rank;
    } else if (rank > second) {
      second = rank;
    }
  }
  return comparable(best == 2 ? first + second : first);
}

/// Ranks outside the best groups become kLeftOut. group_scores: [groups].
void leave_out_groups(const ExpertsConfig& config, std::span<float> ranks,
                      std::span<float> group_scores) {
  const std::size_t size = ranks.size() / group_scores.size();
  for (std::size_t group = 0; group < group_scores.size(); ++group) {
    group_scores[group] = group_score(ranks.subspan(group * size, size), config.group_best);
  }
  for (int i = 0; i < config.groups_per_token; ++i) {
    const int best = numerics::argmax(group_scores.data(), config.groups);
    group_scores[static_cast<std::size_t>(best)] = kLeftOut;  // marks a group that is kept
  }
  for (std::size_t group = 0; group < group_scores.size(); ++group) {
    if (group_scores[group] == kLeftOut) continue;
    std::ranges::fill(ranks.subspan(group * size, size), kLeftOut);
  }
}

void weigh(const ExpertsConfig& config, std::span<const float> scores,
           std::span<ExpertChoice> chosen) {
  float sum = 0;
  for (ExpertChoice& choice : chosen) {
    choice.weight = scores[static_cast<std::size_t>(choice.expert)];
    sum += choice.weight;
  }
  for (ExpertChoice& choice : chosen) {
    if (config.normalized) choice.weight = numerics::divide(choice.weight, sum + 1e-20F);
    choice.weight *= config.routed_scale;
  }
}

/// Sorts the rows by the experts they chose; an expert's rows stay in order.
void sort_by_expert(const ExpertsConfig& config, int rows, ExpertsScratch& scratch) {
  const auto experts = static_cast<std::size_t>(config.experts);
  const auto per_row = static_cast<std::size_t>(config.experts_per_token);
  const std::size_t total = static_cast<std::size_t>(rows) * per_row;
  scratch.first.assign(experts + 1, 0);
  if (scratch.rows.size() < total) scratch.rows.resize(total);
  room(scratch.weights, rows, config.experts_per_token);

  for (std::size_t i = 0; i < total; ++i) {
    ++scratch.first[static_cast<std::size_t>(scratch.chosen[i].expert) + 1];
  }
  for (std::size_t e = 0; e < experts; ++e) scratch.first[e + 1] += scratch.first[e];
  for (std::size_t i = total; i-- > 0;) {  // from the back, each expert's end moving to its start
    const ExpertChoice& choice = scratch.chosen[i];
    const auto place =
        static_cast<std::size_t>(--scratch.first[static_cast<std::size_t>(choice.expert) + 1]);
    scratch.rows[place] = static_cast<int>(i / per_row);
    scratch.weights[place] = choice.weight;
  }
  // first[e + 1] is now where expert e starts.
  std::rotate(scratch.first.begin(), scratch.first.begin() + 1, scratch.first.end());
  scratch.first[experts] = static_cast<int>(total);
}

void choose_for_rows(const PackedExperts& experts, Rows x, ExpertsScratch& scratch,
                     Workers& workers) {
  const ExpertsConfig& config = experts.config;
  const auto E = static_cast<std::size_t>(config.experts);
  const auto per_row = static_cast<std::size_t>(config.experts_per_token);
  const int extra = router_scratch_size(config);
  float* scores = room(scratch.scores, x.count, config.experts);
  float* router = room(scratch.router, x.count, extra);
  const std::size_t total = static_cast<std::size_t>(x.count) * per_row;
  if (scratch.chosen.size() < total) scratch.chosen.resize(total);
  workers.multiply(Operation::router, x, experts.router, scores);
  workers.for_rows(Operation::router, x.count, [&](int row) {
    float* products = scores + offset(row, config.experts);
    if (!experts.router_bias.empty()) {
      numerics::add(products, experts.router_bias.data(), config.experts);
    }
    choose_experts(
        config, {products, E}, experts.correction_bias,
        {router + offset(row, extra), static_cast<std::size_t>(extra)},
        std::span(scratch.chosen).subspan(static_cast<std::size_t>(row) * per_row, per_row));
  });
}

/// [rows], or null where shared experts have no gate.
const float* shared_gates(const PackedExperts& experts, Rows x, ExpertsScratch& scratch,
                          Workers& workers) {
  if (!experts.config.shared_gate) return nullptr;
  float* gates = room(scratch.gates, x.count, 1);
  workers.multiply(Operation::router, x, experts.shared_gate, gates);
  for (int row = 0; row < x.count; ++row) {
    gates[row] = numerics::divide(1.0F, 1.0F + numerics::exp(-gates[row]));
  }
  return gates;
}

}  // namespace

int router_scratch_size(const ExpertsConfig& config) { return config.experts + config.groups; }

void choose_experts(const ExpertsConfig& config, std::span<float> products,
                    std::span<const float> bias, std::span<float> scratch,
                    std::span<ExpertChoice> chosen) {
  products_to_scores(config.score, products);
  const std::span<float> ranks = scratch.first(products.size());
  std::ranges::copy(products, ranks.begin());
  if (!bias.empty()) numerics::add(ranks.data(), bias.data(), count(ranks));
  for (float& rank : ranks) rank = comparable(rank);
  if (config.groups_per_token < config.groups) {
    leave_out_groups(config, ranks, scratch.subspan(ranks.size()));
  }
  for (ExpertChoice& choice : chosen) {
    choice.expert = numerics::argmax(ranks.data(), count(ranks));
    ranks[static_cast<std::size_t>(choice.expert)] = kLeftOut;
  }
  std::ranges::sort(chosen, {}, &ExpertChoice::expert);
  weigh(config, products, chosen);
}

void run_experts(const PackedExperts& experts, Rows x, float* out, ExpertsScratch& scratch,
                 Workers& workers) {
  const int d = experts.router.inputs();
  choose_for_rows(experts, x, scratch, workers);
  sort_by_expert(experts.config, x.count, scratch);
  // An expert may get every row, if not in this batch, then in another of its size.
  const int F = experts.experts.front().size();
  room(scratch.mlp.gate_up, x.count, 2 * F);
  room(scratch.mlp.gated, x.count, F);
  float* gathered = room(scratch.gathered, x.count, d);
  float* produced = room(scratch.produced, x.count, d);
  std::fill_n(out, offset(x.count, d), 0.0F);
  for (std::size_t e = 0; e < experts.experts.size(); ++e) {
    const int first = scratch.first[e];
    const int rows = scratch.first[e + 1] - first;
    if (rows == 0) continue;
    const int* row_of = scratch.rows.data() + first;
    const float* weights = scratch.weights.data() + first;
    for (int i = 0; i < rows; ++i) {
      std::copy_n(x.data + offset(row_of[i], d), d, gathered + offset(i, d));
    }
    mlp(experts.experts[e], {gathered, rows}, produced, scratch.mlp, workers);
    for (int i = 0; i < rows; ++i) {
      numerics::add_scaled(out + offset(row_of[i], d), produced + offset(i, d), weights[i], d);
    }
  }
  if (!experts.shared) return;
  mlp(*experts.shared, x, produced, scratch.mlp, workers);
  const float* gates = shared_gates(experts, x, scratch, workers);
  workers.for_rows(Operation::residual, x.count, [&](int row) {
    const float gate = gates != nullptr ? gates[row] : 1;
    numerics::add_scaled(out + offset(row, d), produced + offset(row, d), gate, d);
  });
}

}  // namespace forge::model
