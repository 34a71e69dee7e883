// Fingerprint: what decides the bits of an answer beside its request, as values and as one short
// text, the system_fingerprint of OpenAI's API.
//
// Two processes with the same fingerprint give the same request the same tokens and logits, bit for
// bit. A request is what a Receipt has of it (receipt.h): token ids, not a text, of which a
// tokenizer and a chat template make them; and the most tokens that were in effect, which a server
// may have filled in from its context.
//
// What does not decide bits is no part of it: the target, where its results are those of others;
// threads, batch, chunks, cache, drafts, who else was served. tests/apps/receipt_programs_test.cc
// changes them and compares.
//
//   fingerprint   "fp_" and 16 hexadecimal digits: text_digest of the parts
//   parts         {"config":"7c2f...","eos":"0","kv":"f32","machine":"","numerics":"canonical",
//                  "version":"0.1.0","vocabulary":"51c0...","weights":"93a0..."}
//
// It detects differences; it does not resist an adversary, and a server can claim any. Pure values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace forge::receipt {

/// Of the program that this is part of, "0.1.0". It stands for the code: kernels, sampling and
/// grammars may change bits from one version to the next, and within none.
std::string_view program_version();

struct Fingerprint {
  std::string version{program_version()};
  std::string config;      ///< of the model: model/config_digest.h, 16 hexadecimal digits
  std::string weights;     ///< of the model: model/weights_digest.h, 32 hexadecimal digits
  std::string vocabulary;  ///< digest of the text of each token, on which grammars depend
  std::string numerics;    ///< of the results: "canonical", "native" or "fast"
  std::string machine;     ///< what of the machine these depend on; empty of canonical ones
  std::string kv;          ///< type of KV: "f32"
  std::string eos;         ///< the tokens that end a text, ascending: "0 2"

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

struct FingerprintPart {
  std::string_view name;
  std::string Fingerprint::*text;
};

/// Every part; those first that say most of where another one comes from.
inline constexpr std::array kFingerprintParts = {
    FingerprintPart{"config", &Fingerprint::config},
    FingerprintPart{"weights", &Fingerprint::weights},
    FingerprintPart{"vocabulary", &Fingerprint::vocabulary},
    FingerprintPart{"eos", &Fingerprint::eos},
    FingerprintPart{"numerics", &Fingerprint::numerics},
    FingerprintPart{"machine", &Fingerprint::machine},
    FingerprintPart{"kv", &Fingerprint::kv},
    FingerprintPart{"version", &Fingerprint::version}};

/// "fp_51c0a1b2c3d4e5f6"
std::string to_string(const Fingerprint& fingerprint);

/// FNV-1a of 64 bits over the bytes of a text: h starts at 14695981039346656037; for each byte:
/// h ^= byte, then h *= 1099511628211 (mod 2^64). Source: Fowler, Noll, Vo; draft-eastlake-fnv.
std::uint64_t text_digest(std::string_view text);

}  // namespace forge::receipt
