#include "credentials.h"

#include <iostream>
#include <utility>

namespace forge::apps {
namespace {

void note(const std::string& text) { std::cerr << "forge-infer: " + text + '\n'; }

tl::expected<serve::ApiKeys, std::string> read_keys(const InferOptions& options) {
  auto keys = serve::ApiKeys::read(options.api_key_file);
  if (keys) return keys;
  return tl::unexpected("--api-key-file: '" + options.api_key_file + "' " + keys.error());
}

tl::expected<serve::TlsCertificate, std::string> read_certificate(const InferOptions& options) {
  auto certificate = serve::TlsCertificate::read(options.tls_cert, options.tls_key);
  if (!certificate) return certificate;
  if (const std::string& fault = certificate->fault(); !fault.empty()) {
    note("the certificate '" + options.tls_cert + "' " + fault + ": clients will refuse it");
  }
  return certificate;
}

void read_keys_again(const InferOptions& options, serve::HttpServer& server) {
  auto keys = read_keys(options);
  if (!keys) return note(keys.error() + "; the keys are those of before");
  note("--api-key-file: " + std::to_string(keys->size()) + " keys");
  server.set_keys(*std::move(keys));
}

void read_certificate_again(const InferOptions& options, serve::HttpServer& server) {
  auto certificate = read_certificate(options);
  if (!certificate) return note(certificate.error() + "; the certificate is that of before");
  note("--tls-cert: read again");
  server.set_certificate(*std::move(certificate));
}

}  // namespace

bool has_credentials(const InferOptions& options) {
  return !options.api_key_file.empty() || !options.tls_cert.empty();
}

tl::expected<Credentials, std::string> read_credentials(const InferOptions& options) {
  Credentials read;
  if (!options.api_key_file.empty()) {
    auto keys = read_keys(options);
    if (!keys) return tl::unexpected(keys.error());
    read.keys = *std::move(keys);
  }
  if (!options.tls_cert.empty()) {
    auto certificate = read_certificate(options);
    if (!certificate) return tl::unexpected(certificate.error());
    read.certificate = *std::move(certificate);
  }
  return read;
}

void give(Credentials credentials, serve::HttpServer& server) {
  if (credentials.keys) server.set_keys(*std::move(credentials.keys));
  if (credentials.certificate) server.set_certificate(*std::move(credentials.certificate));
}

void read_credentials_on(boost::asio::signal_set& hangups, const InferOptions& options,
                         serve::HttpServer& server) {
  hangups.async_wait([&](const boost::system::error_code& cancelled, int) {
    if (cancelled) return;
    if (!options.api_key_file.empty()) read_keys_again(options, server);
    if (!options.tls_cert.empty()) read_certificate_again(options, server);
    read_credentials_on(hangups, options, server);
  });
}

}  // namespace forge::apps
