// The reader of receipt.h.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "forge/core/quoted.h"
#include "forge/json/fields.h"
#include "forge/json/parse.h"
#include "forge/receipt/receipt.h"
#include "forge/trace/trace_event.h"
#include "forge/trace/trace_json.h"
#include "receipt_json.h"

namespace forge::receipt {
namespace {

using json::Fields;

constexpr IntegerRange kTokens = {0, std::numeric_limits<std::uint32_t>::max()};

void read_fingerprint(const Fields& fields, Fingerprint& out) {
  for (const auto& [name, text] : kFingerprintParts) {
    if (!fields.has(name)) fields.fail(name, "a text");
    out.*text = fields.text(name, "");
  }
  fields.finish();
}

/// As a trace has it, and nothing beside what decides bits.
void read_request(const Fields& fields, Request& out) {
  const nlohmann::json* const request = fields.find("request");
  if (request == nullptr) return fields.fail("request", "an object");
  const auto event = trace::event_from_json({{"submit", {{"seq", 1U}, {"request", *request}}}});
  if (!event) {
    std::string what = event.error();
    if (what.starts_with("submit.")) what.erase(0, 7);
    return fields.fault().set(what, "request");
  }
  out = std::get<trace::SubmitEvent>(*event).request;
  if (out != request_in_receipt(out)) {
    fields.refuse("request",
                  "has what changes no bits; accepted are prompt, max_new_tokens, ignore_eos and "
                  "sampling without logprobs, prompt_logprobs and margins");
  }
}

/// 8 lower-case hexadecimal digits.
std::optional<std::uint32_t> bits_of(const std::string& text) {
  std::uint32_t bits = 0;
  const char* const end = text.data() + text.size();
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() != 8 || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  return std::from_chars(text.data(), end, bits, 16).ptr == end ? std::optional(bits)
                                                                : std::nullopt;
}

std::vector<std::string> required_texts(const Fields& fields, const char* name) {
  if (!fields.has(name)) fields.fail(name, "a list of texts");
  return fields.texts(name);
}

/// The bits of a float for each token of the output.
void read_bits(const Fields& fields, const char* name, std::uint32_t ReceiptToken::*bits,
               std::vector<ReceiptToken>& output) {
  const std::vector<std::string> texts = required_texts(fields, name);
  if (texts.size() != output.size()) {
    return fields.refuse(name, "has " + std::to_string(texts.size()) + " texts; accepted are " +
                                   std::to_string(output.size()) +
                                   ", as many as output has tokens");
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto value = bits_of(texts[i]);
    if (!value) {
      return fields.refuse(
          name, "has " + in_quotes(texts[i]) + "; accepted are 8 lower-case hexadecimal digits");
    }
    output[i].*bits = *value;
  }
}

void read_output(const Fields& fields, std::vector<ReceiptToken>& output) {
  if (!fields.has("output")) return fields.fail("output", "a list of token ids");
  for (const std::int64_t token : fields.integers("output", kTokens)) {
    output.push_back({.token = TokenId(static_cast<std::uint32_t>(token))});
  }
  read_bits(fields, "logprobs", &ReceiptToken::logprob, output);
  read_bits(fields, "margins", &ReceiptToken::margin, output);
}

void read_stop(const Fields& fields, std::vector<std::string>& stop) {
  stop = required_texts(fields, "stop");
  for (const std::string& text : stop) {
    if (text.empty()) fields.refuse("stop", "has an empty text; accepted are others");
  }
}

/// An output can end so.
void check_end(const Fields& fields, const Receipt& receipt) {
  const std::size_t most = receipt.request.max_new_tokens;
  const std::size_t size = receipt.output.size();
  const bool is_cut = receipt.finish == FinishReason::deadline;
  const std::size_t least = receipt.finish == FinishReason::length ? most : is_cut ? 0 : 1;
  if (size < least || size > most) {
    const IntegerRange range{static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
    return fields.refuse("output", "has " + std::to_string(size) +
                                       " tokens; accepted with this finish_reason and " +
                                       "max_new_tokens are " + to_string(range));
  }
  if (receipt.finish == FinishReason::stop && receipt.stop.empty()) {
    fields.refuse("stop", "is empty; accepted with finish_reason \"stop\" is one text or more");
  }
}

Receipt read(const nlohmann::json& object, const std::string& name, json::Fault& fault) {
  const Fields fields(object, name, fault);
  Receipt receipt;
  fields.integer("forge_receipt", {kReceiptVersion, kReceiptVersion});
  if (fields.failed()) return receipt;  // another version may have anything
  receipt.model = fields.text("model");
  const std::string fingerprint = fields.text("system_fingerprint");
  read_fingerprint(fields.required_object("fingerprint"), receipt.fingerprint);
  read_request(fields, receipt.request);
  read_stop(fields, receipt.stop);
  read_output(fields, receipt.output);
  const std::string_view finish =
      fields.one_of("finish_reason", {"length", "eos", "stop", "deadline"});
  receipt.finish = from_name<FinishReason>(finish).value_or(FinishReason::length);
  const std::string digest = fields.text("digest");
  fields.finish();
  if (fields.failed()) return receipt;
  const std::string own = digest_of(object);
  if (digest != own) {
    fields.refuse("digest", "is " + in_quotes(digest) + "; accepted is " + in_quotes(own) +
                                ", that of the rest: the receipt was altered");
  }
  if (fingerprint != to_string(receipt.fingerprint)) {
    fields.refuse("system_fingerprint", "is " + in_quotes(fingerprint) + "; accepted is " +
                                            in_quotes(to_string(receipt.fingerprint)) +
                                            ", that of the parts of fingerprint");
  }
  check_end(fields, receipt);
  return receipt;
}

}  // namespace

tl::expected<Receipt, std::string> parse_receipt(std::string_view text) {
  const auto object = json::parse_object(text);
  if (!object) return tl::unexpected(to_string(object.error()));
  json::Fault fault;
  const bool is_answer = !object->contains("forge_receipt") && object->contains("receipt");
  Receipt receipt =
      is_answer ? read((*object)["receipt"], "receipt", fault) : read(*object, "", fault);
  if (fault.is_set()) return tl::unexpected(std::move(fault.message));
  return receipt;
}

}  // namespace forge::receipt
