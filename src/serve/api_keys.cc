#include "forge/serve/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "forge/core/quoted.h"
#include "secret_file.h"
#include "sha256.h"

namespace forge::serve {
namespace {

constexpr std::string_view kForm = "accepted is NAME:CLASS:SHA256[:SETTINGS]";
constexpr std::size_t kNameMax = 64;
constexpr std::size_t kKeyBytes = 32;

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<KeyDigest> digest_from_hex(std::string_view text) {
  KeyDigest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* const digits = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, digest[i], 16);
    if (error != std::errc() || end != digits + 2) return std::nullopt;
  }
  return digest;
}

bool is_name(std::string_view text) {
  const auto is_of_names = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= kNameMax && std::ranges::all_of(text, is_of_names);
}

/// NAME:CLASS, without a digest yet.
tl::expected<ApiKey, std::string> parse_owner(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (!is_name(name)) {
    return tl::unexpected("the name " + in_quotes(name) + " is not 1 to " +
                          std::to_string(kNameMax) + " of letters, digits, '-', '_' and '.'");
  }
  if (colon == std::string_view::npos)
    return tl::unexpected(std::string("there is no ':CLASS' after the name"));
  const std::string_view kind = text.substr(colon + 1);
  const auto known = from_name<KeyClass>(kind);
  if (!known) {
    return tl::unexpected("the class " + in_quotes(kind) + " is not 'client' or 'operator'");
  }
  return ApiKey{.name = std::string(name), .kind = *known};
}

/// What stands before the first ':', and what behind it; nothing if there is none.
struct Parted {
  std::string_view front;
  std::optional<std::string_view> rest;
};
Parted part(std::string_view text, std::size_t from = 0) {
  const std::size_t colon = text.find(':', from);
  if (colon == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

tl::expected<ApiKey, std::string> parse_line(std::string_view line) {
  const auto name = part(line);
  if (!name.rest) return tl::unexpected(std::string("there is no ':'"));
  const auto [owner, rest] = part(line, name.front.size() + 1);
  auto key = parse_owner(rest ? owner : name.front);
  if (!key) return key;
  const auto [hex_digits, settings] = part(*rest);
  const auto digest = digest_from_hex(hex_digits);
  if (!digest) {
    return tl::unexpected(std::string("behind the class are not 64 hexadecimal digits"));
  }
  key->digest = *digest;
  if (!settings) return key;
  auto parsed = parse_client_settings(*settings);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  key->settings = *parsed;
  return key;
}

std::string_view without_spaces(std::string_view line) {
  constexpr std::string_view kSpaces = " \t\r";
  const std::size_t first = line.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kSpaces) - first + 1);
}

}  // namespace

tl::expected<ApiKeys, std::string> ApiKeys::parse(std::string_view text) {
  ApiKeys all;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_spaces(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const auto fault = [number](const std::string& what) {
      return tl::unexpected("line " + std::to_string(number) + ": " + what);
    };
    auto key = parse_line(line);
    if (!key) return fault(key.error() + "; " + std::string(kForm));
    for (const ApiKey& other : all.keys_) {
      if (other.name == key->name) return fault("there is a key '" + key->name + "' already");
      if (other.digest == key->digest) return fault("'" + other.name + "' has the same key");
    }
    all.keys_.push_back(*std::move(key));
  }
  if (all.keys_.empty()) return tl::unexpected("there is no key; " + std::string(kForm));
  return all;
}

tl::expected<ApiKeys, std::string> ApiKeys::read(const std::filesystem::path& file) {
  return read_secret_file(file).and_then([](const std::string& text) { return parse(text); });
}

const ApiKey* ApiKeys::find(std::string_view key) const {
  const KeyDigest asked = sha256(key);
  std::size_t found = keys_.size();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const bool same = CRYPTO_memcmp(keys_[i].digest.data(), asked.data(), asked.size()) == 0;
    const std::size_t mask = std::size_t{0} - static_cast<std::size_t>(same);
    found = (found & ~mask) | (i & mask);
  }
  return found < keys_.size() ? &keys_[found] : nullptr;
}

bool ApiKeys::contains(const ApiKey& key) const {
  return std::ranges::any_of(keys_, [&key](const ApiKey& other) {
    return other.name == key.name && other.kind == key.kind && other.digest == key.digest;
  });
}

tl::expected<NewKey, std::string> make_key(std::string_view owner) {
  auto key = parse_owner(owner);
  if (!key) return tl::unexpected(key.error() + "; accepted is NAME:CLASS");
  std::array<std::uint8_t, kKeyBytes> bits{};
  if (RAND_bytes(bits.data(), static_cast<int>(bits.size())) != 1) {
    return tl::unexpected(std::string("the system has no random numbers"));
  }
  NewKey made{.key = "fk-" + hex(bits)};
  key->digest = sha256(made.key);
  made.line = key->name + ":" + std::string(name_of(key->kind)) + ":" + hex(key->digest);
  return made;
}

}  // namespace forge::serve
