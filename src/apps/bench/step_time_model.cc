#include "step_time_model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace forge::apps {
namespace {

constexpr std::size_t kTerms = Names<StepTerm>::kCount;
constexpr int kRounds = 20;              // of reweighting
constexpr double kSmallestError = 0.01;  // that makes a difference to a weight
constexpr double kSmallestPivot = 1e-9;  // of terms that are told apart, each scaled to 1
constexpr std::uint64_t kFirstNearKeys = 512;

/// How much of each term is in the work.
StepTerms amounts_of(const StepWork& work, std::uint64_t near_keys) {
  const std::uint64_t far = work.decode_keys - std::min(work.decode_keys, near_keys);
  const std::array<std::uint64_t, kTerms> amounts{
      1,   work.decodes,     work.drafts,       work.prompt_rows, work.decode_keys,
      far, work.prompt_keys, work.blocks_copied};
  StepTerms terms;
  std::ranges::transform(amounts, terms.begin(),
                         [](std::uint64_t amount) { return static_cast<double>(amount); });
  return terms;
}

double product_of(const StepTerms& a, const StepTerms& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += a[i] * b[i];
  return sum;
}

/// Normal equations: gram c = right, each term scaled so that the diagonal of gram is 1 (or 0).
struct NormalEquations {
  std::array<StepTerms, kTerms> gram{};
  StepTerms right{};
  StepTerms scale{};
};

NormalEquations normal_equations(std::span<const StepTerms> rows, std::span<const double> weights) {
  NormalEquations sums;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    for (std::size_t i = 0; i < kTerms; ++i) {
      const double weighted = weights[n] * rows[n][i];
      sums.right[i] += weighted;
      for (std::size_t j = 0; j < kTerms; ++j) sums.gram[i][j] += weighted * rows[n][j];
    }
  }
  for (std::size_t i = 0; i < kTerms; ++i) {
    sums.scale[i] = sums.gram[i][i] > 0 ? 1 / std::sqrt(sums.gram[i][i]) : 0;
  }
  for (std::size_t i = 0; i < kTerms; ++i) {
    sums.right[i] *= sums.scale[i];
    for (std::size_t j = 0; j < kTerms; ++j) sums.gram[i][j] *= sums.scale[i] * sums.scale[j];
  }
  return sums;
}

/// The solution for the terms of `subset`, a bit each, 0 for the others; nullopt if these cannot be
/// told apart. By elimination without a choice of pivots, as gram is positive definite then.
std::optional<StepTerms> solve(NormalEquations sums, std::uint32_t subset) {
  std::vector<std::size_t> terms;
  for (std::size_t i = 0; i < kTerms; ++i) {
    if ((subset >> i & 1) != 0) terms.push_back(i);
  }
  for (const std::size_t pivot : terms) {
    if (sums.gram[pivot][pivot] < kSmallestPivot) return std::nullopt;
    for (const std::size_t row : terms) {
      if (row == pivot) continue;
      const double factor = sums.gram[row][pivot] / sums.gram[pivot][pivot];
      for (const std::size_t i : terms) sums.gram[row][i] -= factor * sums.gram[pivot][i];
      sums.right[row] -= factor * sums.right[pivot];
    }
  }
  StepTerms solution{};
  for (const std::size_t i : terms) solution[i] = sums.right[i] / sums.gram[i][i];
  return solution;
}

/// The c >= 0 of the least weighted sum of (c row - 1)^2. That sum is smaller by right c than
/// without any term where c solves the normal equations of its terms.
StepTerms least_squares(std::span<const StepTerms> rows, std::span<const double> weights) {
  const NormalEquations sums = normal_equations(rows, weights);
  StepTerms best{};
  double most_explained = 0;
  for (std::uint32_t subset = 1; subset < 1U << kTerms; ++subset) {
    const auto found = solve(sums, subset);
    if (!found || *std::ranges::min_element(*found) < 0) continue;
    const double explained = product_of(sums.right, *found);
    if (explained <= most_explained) continue;
    most_explained = explained;
    best = *found;
  }
  for (std::size_t i = 0; i < kTerms; ++i) best[i] *= sums.scale[i];
  return best;
}

struct Fit {
  StepTerms us{};
  double error = 0;  ///< sum of |relative error|
};

Fit fit_with(std::span<const TimedWork> steps, std::uint64_t near_keys) {
  std::vector<StepTerms> rows;
  for (const TimedWork& step : steps) {
    rows.push_back(amounts_of(step.work, near_keys));
    for (double& amount : rows.back()) amount /= step.us;
  }
  std::vector<double> weights(rows.size(), 1);
  Fit fit;
  for (int round = 0; round < kRounds; ++round) {
    fit = {.us = least_squares(rows, weights)};
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const double error = std::abs(product_of(fit.us, rows[n]) - 1);
      weights[n] = 1 / std::max(error, kSmallestError);
      fit.error += error;
    }
  }
  return fit;
}

}  // namespace

double StepTimeModel::us_of(const StepWork& work) const {
  return product_of(us, amounts_of(work, near_keys));
}

std::optional<StepTerm> StepTimeModel::unknown(const StepWork& work) const {
  const StepTerms amounts = amounts_of(work, near_keys);
  for (std::size_t i = 0; i < kTerms; ++i) {
    if (amounts[i] > 0 && !fitted[i]) return static_cast<StepTerm>(i);
  }
  return std::nullopt;
}

StepTimeModel fit_step_times(std::span<const TimedWork> steps) {
  StepTimeModel model;
  std::uint64_t most_keys = 0;
  for (const TimedWork& step : steps) {
    most_keys = std::max(most_keys, step.work.decode_keys);
    const StepTerms amounts = amounts_of(step.work, 0);
    for (std::size_t i = 0; i < kTerms; ++i) model.fitted[i] = model.fitted[i] || amounts[i] > 0;
  }
  std::optional<double> least_error;
  for (std::uint64_t power = kFirstNearKeys;; power *= 2) {
    for (const std::uint64_t near_keys : {power, power + power / 2}) {
      const Fit fit = fit_with(steps, near_keys);
      if (least_error && fit.error >= *least_error) continue;
      least_error = fit.error;
      model.us = fit.us;
      model.near_keys = near_keys;
    }
    if (power >= most_keys) return model;
  }
}

nlohmann::ordered_json to_json(const StepTimeModel& model) {
  nlohmann::ordered_json us;
  for (std::size_t i = 0; i < kTerms; ++i) {
    if (model.fitted[i]) us[std::string(kNames<StepTerm>[i])] = model.us[i];
  }
  return {{"us", us}, {"near_keys", model.near_keys}};
}

}  // namespace forge::apps
