#include "forge/serve/tls_certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <string_view>

#include "secret_file.h"

namespace forge::serve {
namespace {

using Context = std::shared_ptr<SSL_CTX>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// Its length, then a name of a protocol. Source: RFC 7301, section 3.1.
constexpr std::string_view kProtocols = "\x08http/1.1";

// NOLINTNEXTLINE(readability-function-size): OpenSSL calls it so
int pick_protocol(SSL* /*session*/, const unsigned char** picked, unsigned char* picked_bytes,
                  const unsigned char* offered, unsigned int offered_bytes, void* /*none*/) {
  const auto* const spoken = reinterpret_cast<const unsigned char*>(kProtocols.data());
  const int found = SSL_select_next_proto(const_cast<unsigned char**>(picked), picked_bytes, spoken,
                                          kProtocols.size(), offered, offered_bytes);
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Context new_context() {
  Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);  // a ticket needs no memory
  SSL_CTX_set_alpn_select_cb(context.get(), pick_protocol, nullptr);
  return context;
}

std::string openssl_reason() {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  return reason != nullptr ? reason : "OpenSSL does not say why";
}

tl::unexpected<std::string> fault_of(std::string_view what, const std::filesystem::path& file,
                                     const std::string& fault) {
  return tl::unexpected("the " + std::string(what) + " '" + file.string() + "' " + fault);
}

tl::expected<void, std::string> use_certificate(const Context& context,
                                                const std::filesystem::path& file) {
  if (!std::ifstream(file)) {
    return fault_of("certificate", file, "cannot be read: " + std::string(std::strerror(errno)));
  }
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context.get(), file.c_str()) == 1) return {};
  const unsigned long error = ERR_peek_error();
  if (ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE) {
    return fault_of("certificate", file, "is not PEM: it has no BEGIN CERTIFICATE");
  }
  return fault_of("certificate", file, "cannot be used: " + openssl_reason());
}

/// Instead of OpenSSL's own, which would ask at the terminal.
int note_passphrase(char* /*text*/, int /*size*/, int /*writes*/, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

tl::expected<Key, std::string> read_key(const std::filesystem::path& file) {
  const auto text = read_secret_file(file);
  if (!text) return fault_of("key", file, text.error());
  const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(
      BIO_new_mem_buf(text->data(), static_cast<int>(text->size())), BIO_free);
  if (!bytes) throw std::bad_alloc();
  ERR_clear_error();
  bool needs_passphrase = false;
  Key key(PEM_read_bio_PrivateKey(bytes.get(), nullptr, note_passphrase, &needs_passphrase),
          EVP_PKEY_free);
  if (needs_passphrase) return fault_of("key", file, "has a passphrase; accepted is one without");
  if (!key) return fault_of("key", file, "is not PEM: it has no whole BEGIN PRIVATE KEY");
  return key;
}

std::string day_of(const ASN1_TIME* time) {
  std::tm parts{};
  std::array<char, 16> text{};
  ASN1_TIME_to_tm(time, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

std::string fault_of_time(const X509* certificate) {
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(end) < 0) return "expired on " + day_of(end);
  if (X509_cmp_current_time(begin) > 0) return "is valid only from " + day_of(begin) + " on";
  return "";
}

}  // namespace

tl::expected<TlsCertificate, std::string> TlsCertificate::read(
    const std::filesystem::path& certificate, const std::filesystem::path& key) {
  const Context context = new_context();
  if (auto used = use_certificate(context, certificate); !used) {
    return tl::unexpected(used.error());
  }
  const auto private_key = read_key(key);
  if (!private_key) return tl::unexpected(private_key.error());
  X509* const shown = SSL_CTX_get0_certificate(context.get());
  if (X509_check_private_key(shown, private_key->get()) != 1) {
    return fault_of("key", key, "is not that of the certificate '" + certificate.string() + "'");
  }
  ERR_clear_error();
  if (SSL_CTX_use_PrivateKey(context.get(), private_key->get()) != 1) {
    return fault_of("key", key, "cannot be used: " + openssl_reason());
  }
  return TlsCertificate(context, fault_of_time(shown));
}

TlsCertificate::TlsCertificate(std::shared_ptr<ssl_ctx_st> context, std::string fault)
    : context_(std::move(context)), fault_(std::move(fault)) {}

}  // namespace forge::serve
