#include "receipt_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <span>
#include <vector>

#include "forge/chat/answer_form.h"

namespace forge::apps {
namespace {

using receipt::Receipt;
using receipt::ReceiptToken;
using Difference = std::optional<ReceiptDifference>;

std::string token_text(TokenId token) { return "token " + std::to_string(token.value); }

std::string float_text(const char* name, std::uint32_t bits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s %.9g (%08x)", name,
                static_cast<double>(std::bit_cast<float>(bits)), bits);
  return text.data();
}

Difference compare(std::size_t index, const ReceiptToken& recorded, const ReceiptToken& here) {
  if (recorded.token != here.token) {
    return ReceiptDifference{index, token_text(recorded.token), token_text(here.token)};
  }
  const auto of_floats = [&](const char* name, std::uint32_t ReceiptToken::*bits) {
    return ReceiptDifference{index, float_text(name, recorded.*bits), float_text(name, here.*bits)};
  };
  if (recorded.logprob != here.logprob) return of_floats("log-probability", &ReceiptToken::logprob);
  if (recorded.margin != here.margin) return of_floats("margin", &ReceiptToken::margin);
  return std::nullopt;
}

tl::expected<void, std::string> check_tokens(const Request& request, std::uint32_t vocabulary) {
  const auto outside = [&](const char* field, TokenId token) {
    return tl::unexpected("request." + std::string(field) + " has the token id " +
                          std::to_string(token.value) + "; accepted is " +
                          accepted(IntegerRange{0, std::int64_t{vocabulary} - 1}));
  };
  for (const TokenId token : request.prompt) {
    if (token.value >= vocabulary) return outside("prompt", token);
  }
  for (const TokenBias& bias : request.sampling.logit_bias) {
    if (bias.token.value >= vocabulary) return outside("sampling.logit_bias", bias.token);
  }
  return {};
}

/// Looks for what ends an output, token by token, as the server has looked for it.
class End {
 public:
  End(const Receipt& receipt, const runtime::Runtime& runtime)
      : receipt_(receipt),
        eos_(runtime.options().executor.eos),
        text_(runtime.model().tokenizer(), receipt.stop, spelt(receipt, runtime)) {}

  /// What ends the output with this token.
  FinishReason after(TokenId token, std::size_t index) {
    text_.push(token);
    if (text_.stopped()) return FinishReason::stop;
    if (!receipt_.request.ignore_eos && std::ranges::count(eos_, token) > 0) {
      return FinishReason::eos;
    }
    return index + 1 == receipt_.request.max_new_tokens ? FinishReason::length : FinishReason::none;
  }

 private:
  /// Control tokens that are text to stop strings: those that grammars know.
  static std::vector<text::SpeltToken> spelt(const Receipt& receipt,
                                             const runtime::Runtime& runtime) {
    if (!receipt.request.sampling.grammar) return {};
    return text::spelt_tokens(runtime.model().tokenizer(), chat::all_marks());
  }

  const Receipt& receipt_;
  const std::vector<TokenId>& eos_;
  text::TextStream text_;
};

/// Where a receipt that says otherwise goes wrong.
Difference compare_end(const Receipt& receipt, std::size_t index, FinishReason here) {
  const bool is_last = index + 1 == receipt.output.size();
  const bool is_cut = receipt.finish == FinishReason::deadline;
  const FinishReason recorded = is_last && !is_cut ? receipt.finish : FinishReason::none;
  if (recorded == here) return std::nullopt;
  const auto text = [](FinishReason reason) {
    return reason == FinishReason::none ? std::string("no end")
                                        : "an end by " + std::string(name_of(reason));
  };
  return ReceiptDifference{index, text(recorded), text(here)};
}

}  // namespace

tl::expected<Difference, std::string> run_again(const Receipt& receipt, runtime::Runtime& runtime) {
  if (receipt.output.empty()) return std::nullopt;
  Request request = receipt.request;
  // What comes after its last token is not asked for; tokens do not depend on how many follow.
  request.max_new_tokens = static_cast<std::uint32_t>(receipt.output.size());
  request.sampling.logprobs = 0;
  request.sampling.margins = true;
  const auto vocabulary = static_cast<std::uint32_t>(runtime.config().vocabulary_size);
  if (auto known = check_tokens(request, vocabulary); !known) return tl::unexpected(known.error());
  engine::Engine& engine = runtime.engine();
  if (const auto seq = engine.submit(request); !seq) return tl::unexpected(to_string(seq.error()));
  End end(receipt, runtime);
  std::size_t index = 0;
  while (index < receipt.output.size()) {
    if (!engine.has_work()) {
      return tl::unexpected("the run failed after " + std::to_string(index) + " of " +
                            std::to_string(receipt.output.size()) + " tokens" +
                            (engine.last_error().empty() ? "" : ": " + engine.last_error()));
    }
    const auto [plan, result] = engine.step();
    for (const TokenReport& report : result.reports) {
      const auto here = ReceiptToken::of(report.token, report.logprob, report.margin);
      Difference difference = compare(index, receipt.output[index], here);
      if (!difference) difference = compare_end(receipt, index, end.after(report.token, index));
      if (difference) return difference;
      ++index;
    }
  }
  return std::nullopt;
}

}  // namespace forge::apps
