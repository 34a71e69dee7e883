#include "calibration.h"

#include <algorithm>
#include <array>
#include <variant>

namespace forge::apps {
namespace {

using model::ForwardPoint;

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::ranges::any_of(names, [&](const char* one) { return name == one; });
}

/// Mean squares over the mean of all.
std::vector<float> relative(const std::vector<double>& squares) {
  constexpr double kLeast = 0x1p-10;
  constexpr double kMost = 0x1p+10;
  double sum = 0;
  for (const double square : squares) sum += square;
  const double mean = sum / static_cast<double>(squares.size());
  std::vector<float> out;
  out.reserve(squares.size());
  for (const double square : squares) {
    out.push_back(static_cast<float>(mean > 0 ? std::clamp(square / mean, kLeast, kMost) : 1.0));
  }
  return out;
}

}  // namespace

void Calibration::add(TokenPass& pass, std::span<const std::uint32_t> tokens, std::size_t window) {
  for (std::size_t first = 0; first < tokens.size(); first += window) {
    const auto part = tokens.subspan(first, std::min(window, tokens.size() - first));
    pass.run(part, [&](const model::Observation& seen) {
      see(seen, pass.scratch(), static_cast<int>(part.size()));
    });
  }
}

/// Inputs are what the sub-layer before has left in the scratch: normed rows, or, where norms come
/// only after, the rows of the residual stream.
void Calibration::see(const model::Observation& seen, const model::TransformerScratch& scratch,
                      int rows) {
  switch (seen.point) {
    case ForwardPoint::embedding:
    case ForwardPoint::layer:
      hidden_.assign(seen.values.begin(), seen.values.end());
      return;
    case ForwardPoint::attention:
      see_attention(*seen.layer, scratch, rows);
      hidden_.assign(scratch.hidden.data(), scratch.hidden.data() + hidden_.size());
      return;
    case ForwardPoint::mlp:
      return see_mlp(*seen.layer, scratch, rows);
    case ForwardPoint::final_norm:
      return add_squares({0, Place::head}, seen.values.data(), rows, seen.width);
    case ForwardPoint::logits:
      return;
  }
}

void Calibration::see_attention(int layer, const model::TransformerScratch& scratch, int rows) {
  const bool before = config_.norm != model::NormPlacement::after;
  add_squares({layer, Place::attention}, before ? scratch.normed.data() : hidden_.data(), rows,
              config_.hidden_size);
  const auto* const heads = std::get_if<model::GroupedQueryConfig>(&config_.attention);
  if (heads == nullptr) return;
  add_squares({layer, Place::attended}, scratch.grouped_query.attended.data(), rows,
              heads->heads * heads->head_size);
}

void Calibration::see_mlp(int layer, const model::TransformerScratch& scratch, int rows) {
  const bool before = config_.norm != model::NormPlacement::after;
  add_squares({layer, Place::mlp}, before ? scratch.normed.data() : hidden_.data(), rows,
              config_.hidden_size);
  if (!model::is_dense(config_, layer)) return;
  add_squares({layer, Place::gated}, scratch.mlp.gated.data(), rows, config_.ffn_size);
}

void Calibration::add_squares(Key key, const float* rows, int count, int width) {
  const auto size = static_cast<std::size_t>(width);
  std::vector<double>& sums = squares_[key];
  sums.resize(size);
  for (int row = 0; row < count; ++row, rows += width) {
    for (std::size_t i = 0; i < size; ++i) sums[i] += static_cast<double>(rows[i]) * rows[i];
  }
}

/// The place of the input of a matrix; false if it is not seen.
bool Calibration::find(const std::string& role, Key& key) const {
  const auto [kind, numbers] = checkpoint::parts_of_role(role);
  key.first = numbers.empty() ? 0 : numbers.front();
  if (kind == (config_.tied_head ? "embedding" : "head")) {
    key.second = Place::head;
  } else if (is_one_of(kind,
                       {"layers.attention.query", "layers.attention.key", "layers.attention.value",
                        "layers.attention.query_down", "layers.attention.kv_down"})) {
    key.second = Place::attention;
  } else if (kind == "layers.attention.output") {
    key.second = Place::attended;
  } else if (kind.ends_with(".gate") || kind.ends_with(".up")) {
    key.second = Place::mlp;
  } else if (kind == "layers.feed_forward.down") {
    key.second = Place::gated;
  } else {
    return false;
  }
  return squares_.contains(key);
}

checkpoint::Importance Calibration::importance(
    const std::vector<checkpoint::FileTensor>& tensors) const {
  checkpoint::Importance out;
  for (const checkpoint::FileTensor& tensor : tensors) {
    for (const checkpoint::WeightRows& part : tensor.parts) {
      Key key;
      if (part.matrix == nullptr || part.transposed || !find(part.role, key)) continue;
      const std::vector<double>& squares = squares_.at(key);
      if (squares.size() == static_cast<std::size_t>(part.matrix->inputs)) {
        out[part.role] = relative(squares);
      }
    }
  }
  return out;
}

}  // namespace forge::apps
