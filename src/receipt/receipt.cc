// The writer of receipt.h.
#include "forge/receipt/receipt.h"

#include <array>
#include <bit>
#include <charconv>

#include "forge/trace/trace_event.h"
#include "forge/trace/trace_json.h"
#include "receipt_json.h"

namespace forge::receipt {
namespace {

using Json = nlohmann::ordered_json;

/// 8 hexadecimal digits.
std::string bits_text(std::uint32_t bits) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bits, 16).ptr;
  const auto count = static_cast<std::size_t>(end - digits.data());
  return std::string(8 - count, '0') + std::string(digits.data(), count);
}

/// As in a trace, but that temperature and seed are said always.
Json request_json(const Request& request) {
  const std::string line = trace::to_json_line(trace::SubmitEvent{SeqId(1), request});
  Json json = Json::parse(line)["submit"]["request"];
  if (!json.contains("sampling")) json["sampling"] = {{"temperature", 0}, {"seed", 0}};
  return json;
}

}  // namespace

ReceiptToken ReceiptToken::of(TokenId token, float logprob, float margin) {
  return {token, std::bit_cast<std::uint32_t>(logprob), std::bit_cast<std::uint32_t>(margin)};
}

Request request_in_receipt(const Request& request) {
  Request kept{.prompt = request.prompt,
               .max_new_tokens = request.max_new_tokens,
               .sampling = request.sampling,
               .ignore_eos = request.ignore_eos};
  kept.sampling.logprobs = std::nullopt;
  kept.sampling.prompt_logprobs = false;
  kept.sampling.margins = false;
  return kept;
}

std::string digest_of(nlohmann::json receipt) {
  receipt.erase("digest");
  return trace::digest_text(
      text_digest(receipt.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

Json to_json(const Receipt& receipt) {
  Json json = {{"forge_receipt", kReceiptVersion},
               {"model", receipt.model},
               {"system_fingerprint", to_string(receipt.fingerprint)},
               {"fingerprint", Json::object()},
               {"request", request_json(receipt.request)},
               {"stop", receipt.stop},
               {"output", Json::array()},
               {"logprobs", Json::array()},
               {"margins", Json::array()},
               {"finish_reason", name_of(receipt.finish)}};
  for (const auto& [name, text] : kFingerprintParts) {
    json["fingerprint"][std::string(name)] = receipt.fingerprint.*text;
  }
  for (const ReceiptToken& token : receipt.output) {
    json["output"].push_back(token.token.value);
    json["logprobs"].push_back(bits_text(token.logprob));
    json["margins"].push_back(bits_text(token.margin));
  }
  json["digest"] = digest_of(json);
  return json;
}

}  // namespace forge::receipt
