// ApiKeys: who may ask a server, and for what.
//
//   # name : class : SHA-256 of the key
//   alice:client:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8
//   bob:client:...:weight=4,priority=normal,concurrent=8
//   monitor:operator:...
//
// What follows the digest is what this key may have (client_limits.h), as far as that is not as for
// everybody. A client asks the model; an operator may do that, too, and ask what the server does
// and keeps for all. The file has digests alone, so whoever reads it cannot ask. A digest without
// salt or rounds is enough for keys that are random and long (make_key(): 256 bits): there is
// nothing to guess.
//
// A key that is asked for is compared as a digest, with every key of the file, to the last byte:
// how long that takes tells nothing of the keys.
//
// Source: SHA-256 is that of FIPS 180-4, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/names.h"
#include "forge/serve/client_limits.h"

namespace forge::serve {

enum class KeyClass { client, oper };
constexpr Names<KeyClass> names_of(KeyClass) { return {"client", "operator"}; }

using KeyDigest = std::array<std::uint8_t, 32>;  ///< SHA-256

/// Whose a request is: the digest of its key; nothing where no key is asked for.
using Owner = std::optional<KeyDigest>;

struct ApiKey {
  std::string name;  ///< 1 to 64 of letters, digits, '-', '_' and '.'; what logs call it
  KeyClass kind = KeyClass::client;
  KeyDigest digest{};
  ClientSettings settings;

  friend bool operator==(const ApiKey&, const ApiKey&) = default;
};

class ApiKeys {
 public:
  /// The lines of a file. Empty lines and those that begin with '#' say nothing. Errors: a sentence
  /// that names the line and what is wrong with it: a form that is not
  /// NAME:CLASS:SHA256[:SETTINGS], a setting that is not accepted, a name or digest that an earlier
  /// line has, or no key at all.
  static tl::expected<ApiKeys, std::string> parse(std::string_view text);

  /// Errors: those of parse(); the file cannot be read; others than its owner and group may read
  /// it, or others than its owner write it.
  static tl::expected<ApiKeys, std::string> read(const std::filesystem::path& file);

  /// Null: it is no key of these. Constant time over keys of one length.
  const ApiKey* find(std::string_view key) const;

  /// Whether the key is one of these, of the same name and class; its settings may be others.
  bool contains(const ApiKey& key) const;
  std::size_t size() const { return keys_.size(); }

 private:
  std::vector<ApiKey> keys_;
};

/// A new key of 256 random bits, and its line for the file.
struct NewKey {
  std::string key;
  std::string line;
};
/// `owner` is NAME:CLASS. Errors: a sentence that names what is wrong with it.
tl::expected<NewKey, std::string> make_key(std::string_view owner);

}  // namespace forge::serve
