// A receipt with something in each of its fields, and what must hold of any bytes as one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "forge/core/check.h"
#include "forge/receipt/receipt.h"

namespace forge::testing {

inline receipt::Receipt some_receipt() {
  receipt::Receipt made{.model = "forge-tiny",
                        .fingerprint = {.version = "0.1.0",
                                        .config = "7c2f000000000001",
                                        .weights = "93a000000000000193a0000000000002",
                                        .vocabulary = "51c0000000000003",
                                        .numerics = "canonical",
                                        .machine = "",
                                        .kv = "f32",
                                        .eos = "0 2"},
                        .request = {.prompt = {TokenId(73), TokenId(106)}, .max_new_tokens = 16},
                        .stop = {"\n\n", "\xc3\xa9nd"},
                        .output = {receipt::ReceiptToken::of(TokenId(105), -0.25F, 1.5F),
                                   receipt::ReceiptToken::of(TokenId(300), -1e-3F, 3e38F)},
                        .finish = FinishReason::stop};
  made.request.sampling.temperature = 0.7F;
  made.request.sampling.seed = ~std::uint64_t{0};
  made.request.sampling.logit_bias = {{TokenId(5), -1.5F}};
  made.request.sampling.top_p = 0.9F;
  made.request.sampling.grammar = OutputGrammar{{{GrammarKind::regex, "[a-z]+"}}, ""};
  return made;
}

/// Aborts if parse_receipt() breaks its promises. Returns: is it a receipt?
inline bool check_receipt_parser(std::string_view text) {
  const auto parsed = receipt::parse_receipt(text);
  if (!parsed) {
    FORGE_CHECK(!parsed.error().empty());
    return false;
  }
  FORGE_CHECK(parsed->output.size() <= parsed->request.max_new_tokens);
  FORGE_CHECK(parsed->request == receipt::request_in_receipt(parsed->request));
  const std::string written = receipt::to_json(*parsed).dump();
  FORGE_CHECK(receipt::parse_receipt(written) == parsed);
  return true;
}

}  // namespace forge::testing
