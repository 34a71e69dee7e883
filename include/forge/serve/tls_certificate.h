// TlsCertificate: what a server shows to its clients, and the key that proves that it is its own.
//
// Both are files in PEM. That of the certificate begins with the server's own; each that follows
// has signed the one before it, up to one that clients know (the chain). The key is read as a
// secret: others than its owner and group may not read it. It has no passphrase, because nobody
// is there to type it when the server starts.
//
// TLS 1.2 and 1.3 are spoken, with the ciphers and the security level of OpenSSL's defaults;
// sessions are resumed by tickets; there is no renegotiation, and clients show no certificates.
// Clients that offer protocols (ALPN) must offer http/1.1.
//
// Sources: RFC 8446 (TLS 1.3), RFC 5246 (TLS 1.2), RFC 7301 (ALPN), RFC 7468 (PEM); by OpenSSL.
// Thread contract: const; a copy shares what was read.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <tl/expected.hpp>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace forge::serve {

class TlsCertificate {
 public:
  /// Errors: a sentence that names the file and what is wrong with it: it cannot be read, is not
  /// PEM, is of a kind or size that OpenSSL's security level forbids; the key may be read by
  /// others, has a passphrase, or is not that of the certificate.
  static tl::expected<TlsCertificate, std::string> read(const std::filesystem::path& certificate,
                                                        const std::filesystem::path& key);

  /// What clients will hold against it, for the log: "expired on 2026-01-31", "is valid only from
  /// 2026-01-31 on"; empty if nothing.
  const std::string& fault() const { return fault_; }

  /// What a session begins with. For TlsSession.
  ssl_ctx_st* context() const { return context_.get(); }

 private:
  TlsCertificate(std::shared_ptr<ssl_ctx_st> context, std::string fault);

  std::shared_ptr<ssl_ctx_st> context_;
  std::string fault_;
};

}  // namespace forge::serve
