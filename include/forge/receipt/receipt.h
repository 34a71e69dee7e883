// Receipt: what was asked and what came out, by which anybody who has the model can check that a
// server computed the answer that it gave: `forge-trace verify RECEIPT --model MODEL` runs the
// request again, alone, and compares every token and bit.
//
//   {"forge_receipt":1,                      version of the format
//    "model":"forge-tiny",                   what the server calls it
//    "system_fingerprint":"fp_51c0...",      of these parts (fingerprint.h):
//    "fingerprint":{"config":"7c2f...","weights":"93a0...","vocabulary":"51c0...","eos":"0",
//                   "numerics":"canonical","machine":"","kv":"f32","version":"0.1.0"},
//    "request":{"prompt":[73,106],           as in a trace (trace_json.h): what is usual is left
//                                            out, but for temperature and seed
//               "max_new_tokens":16,
//               "sampling":{"temperature":0.7,"seed":0}},
//    "stop":["\n\n"],                        stop strings
//    "output":[105,300],                     token ids, with the one that ended it
//    "logprobs":["bf5c2a10","bd9a0400"],     a float's bits for each, hexadecimal
//    "margins":["3e80a4c0","40a1b200"],      likewise
//    "finish_reason":"eos",                  length, eos, stop or deadline
//    "digest":"0c1b2a3948576655"}            of all the others
//
// A log-probability is of the softmax over all logits of the vocabulary, a margin the least change
// of logits that would have had another token picked (TokenReport in core/step_plan.h): what was
// computed otherwise shows in their bits long before it shows in a token. They are no digest of all
// logits, of which one may differ in its last bits without a trace in either.
//
// The digest is text_digest() (fingerprint.h) of the JSON without "digest", keys ascending, no
// white space, UTF-8 as it is; in Python
//   json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
// It shows that a receipt was altered by accident, as by a reader that keeps 53 bits of a seed. It
// is no signature: whoever alters a receipt on purpose makes a new digest, too, and only running it
// again shows that it is wrong.
//
// The ids of a receipt are the client's own, and so are those of the answer that it was given; of
// who asked, with which priority, session or salt, it has nothing, since bits do not depend on it.
//
// Pure values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/request.h"
#include "forge/core/step_plan.h"
#include "forge/receipt/fingerprint.h"

namespace forge::receipt {

inline constexpr int kReceiptVersion = 1;

/// A token of the output, with what its bits are compared by.
struct ReceiptToken {
  TokenId token;
  std::uint32_t logprob = 0;  ///< the bits of TokenReport::logprob
  std::uint32_t margin = 0;   ///< the bits of TokenReport::margin

  static ReceiptToken of(TokenId token, float logprob, float margin);
  friend bool operator==(const ReceiptToken&, const ReceiptToken&) = default;
};

struct Receipt {
  std::string model;
  Fingerprint fingerprint;
  Request request;  ///< as request_in_receipt() leaves it
  std::vector<std::string> stop;
  std::vector<ReceiptToken> output;
  FinishReason finish = FinishReason::length;  ///< length, eos, stop or deadline

  friend bool operator==(const Receipt&, const Receipt&) = default;
};

/// What of a request its bits depend on: prompt, max_new_tokens, ignore_eos and sampling, without
/// what that wants to be told. All else is as usual.
Request request_in_receipt(const Request& request);

/// With its digest. Requires: a receipt as parse_receipt() would give it.
nlohmann::ordered_json to_json(const Receipt& receipt);

/// Reads a receipt, or an answer that has one as its member "receipt".
/// Errors: a text that names the field, its value and what is accepted: what is no receipt of this
/// version; one whose digest or fingerprint is not that of its parts; an output that cannot end so.
tl::expected<Receipt, std::string> parse_receipt(std::string_view text);

}  // namespace forge::receipt
