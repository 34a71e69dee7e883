#include "forge/receipt/fingerprint.h"

#include <nlohmann/json.hpp>

#include "forge/trace/trace_json.h"

namespace forge::receipt {

std::string_view program_version() { return FORGE_VERSION; }

std::string to_string(const Fingerprint& fingerprint) {
  nlohmann::json parts;  // keys ascending
  for (const auto& [name, text] : kFingerprintParts) parts[std::string(name)] = fingerprint.*text;
  const std::string canonical =
      parts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return "fp_" + trace::digest_text(text_digest(canonical));
}

std::uint64_t text_digest(std::string_view text) {
  std::uint64_t digest = 14695981039346656037U;
  for (const char byte : text) {
    digest = (digest ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  }
  return digest;
}

}  // namespace forge::receipt
