// forge-model attention
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "forge/builtin/trained_model.h"
#include "forge/reference/tiny_transformer.h"
#include "forge/runtime/loaded_model.h"
#include "forge/text/utf8_stream.h"
#include "model_commands.h"

namespace forge::apps {
namespace {

constexpr std::size_t kLikeliest = 5;
constexpr std::size_t kMostSeen = 3;
constexpr std::size_t kTokensMax = 2048;  // each head has a number for each pair of them

/// The textbook's model, which remembers what the last token of a text looks at.
class WatchedTransformer : public reference::TinyTransformer {
 public:
  using TinyTransformer::TinyTransformer;

  reference::Rows attention_weights(const reference::Rows& q,
                                    const reference::Rows& k) const override {
    reference::Rows shares = TinyTransformer::attention_weights(q, k);
    const auto last = shares.row(shares.rows() - 1);
    seen_.emplace_back(last.begin(), last.end());
    return shares;
  }

  /// [layers x H][T]: of each head, a share for each token. Requires: one text was run.
  const std::vector<std::vector<double>>& seen() const { return seen_; }

 private:
  mutable std::vector<std::vector<double>> seen_;
};

/// The indices of the `count` largest, largest first; of equal ones the first.
std::vector<std::size_t> largest(const std::vector<double>& values, std::size_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return values[i]; });
  order.resize(std::min(count, order.size()));
  return order;
}

std::vector<double> softmax(std::vector<double> logits) {
  const double top = std::ranges::max(logits);
  for (double& logit : logits) logit = std::exp(logit - top);
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0);
  for (double& share : logits) share /= sum;
  return logits;
}

struct Look {
  std::vector<std::string> texts;          ///< of the tokens
  std::vector<std::vector<double>> heads;  ///< layer by layer
  std::vector<double> next;                ///< how likely each token comes next
};

void print_as_json(const Look& look, const text::Tokenizer& tokenizer, int heads_per_layer) {
  nlohmann::ordered_json heads = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < look.heads.size(); ++i) {
    heads.push_back({{"layer", static_cast<int>(i) / heads_per_layer},
                     {"head", static_cast<int>(i) % heads_per_layer},
                     {"weights", look.heads[i]}});
  }
  nlohmann::ordered_json next = nlohmann::ordered_json::array();
  for (const std::size_t token : largest(look.next, kLikeliest)) {
    next.push_back({{"text", text::to_valid_utf8(
                                 tokenizer.bytes_of(TokenId{static_cast<std::uint32_t>(token)}))},
                    {"probability", look.next[token]}});
  }
  std::cout << nlohmann::ordered_json(
                   {{"tokens", look.texts}, {"heads", std::move(heads)}, {"next", std::move(next)}})
                   .dump()
            << '\n';
}

void print(const Look& look, const text::Tokenizer& tokenizer, int heads_per_layer) {
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::cout << std::fixed << std::setprecision(3);
  for (std::size_t i = 0; i < look.heads.size(); ++i) {
    std::cout << "layer " << static_cast<int>(i) / heads_per_layer << " head "
              << static_cast<int>(i) % heads_per_layer;
    for (const std::size_t at : largest(look.heads[i], kMostSeen)) {
      std::cout << "  " << look.heads[i][at] << ' ' << at << ' ' << quoted(look.texts[at]);
    }
    std::cout << '\n';
  }
  std::cout << "next  ";
  for (const std::size_t token : largest(look.next, kLikeliest)) {
    const TokenId id{static_cast<std::uint32_t>(token)};
    std::cout << "  " << look.next[token] << ' '
              << quoted(text::to_valid_utf8(tokenizer.bytes_of(id)));
  }
  std::cout << '\n';
}

}  // namespace

int run_attention(const AttentionOptions& options) {
  const auto model = runtime::LoadedModel::open({.builtin = runtime::BuiltinModel{}});
  if (!model) return unusable_model(model.error());
  const text::Tokenizer& tokenizer = (*model)->tokenizer();
  const auto tokens = tokenizer.encode(options.prompt);
  if (!tokens) return unusable_model("--prompt: " + to_string(tokens.error()));
  if (tokens->empty() || tokens->size() > kTokensMax) {
    return unusable_model("--prompt: has " + std::to_string(tokens->size()) +
                          " tokens; accepted are 1 to " + std::to_string(kTokensMax));
  }
  const WatchedTransformer transformer(builtin::trained_config(), builtin::trained_weights());
  const reference::Rows logits = transformer.logits(*tokens);
  Look look{.texts = {}, .heads = transformer.seen(), .next = {}};
  for (const TokenId token : *tokens) {
    look.texts.push_back(text::to_valid_utf8(tokenizer.bytes_of(token)));
  }
  const auto last = logits.row(logits.rows() - 1);
  look.next = softmax({last.begin(), last.end()});
  const int heads = transformer.config().heads;
  options.as_json ? print_as_json(look, tokenizer, heads) : print(look, tokenizer, heads);
  return kModelDone;
}

}  // namespace forge::apps
