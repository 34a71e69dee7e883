#include "tls_session.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/error.hpp>
#include <new>

namespace forge::serve {

TlsSession::TlsSession(const TlsCertificate& certificate) : ssl_(SSL_new(certificate.context())) {
  BIO* const input = BIO_new(BIO_s_mem());
  BIO* const output = BIO_new(BIO_s_mem());
  if (!ssl_ || input == nullptr || output == nullptr) {
    BIO_free(input);
    BIO_free(output);
    throw std::bad_alloc();
  }
  SSL_set_bio(ssl_.get(), input, output);
  SSL_set_accept_state(ssl_.get());
}

void TlsSession::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsSession::Handshake TlsSession::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Handshake::done;
  if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return Handshake::needs_input;
  failed_ = true;
  const bool is_http = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
  return is_http ? Handshake::speaks_http : Handshake::failed;
}

void TlsSession::put(std::span<const char> bytes) {
  std::size_t written = 0;
  if (BIO_write_ex(SSL_get_rbio(ssl_.get()), bytes.data(), bytes.size(), &written) != 1) {
    throw std::bad_alloc();  // the one way in which memory does not take it
  }
}

tl::expected<std::size_t, boost::system::error_code> TlsSession::read(std::span<char> to) {
  using boost::system::errc::make_error_code;
  using boost::system::errc::protocol_error;
  if (failed_) return tl::unexpected(make_error_code(protocol_error));
  ERR_clear_error();
  std::size_t count = 0;
  const int result = SSL_read_ex(ssl_.get(), to.data(), to.size(), &count);
  if (result == 1) return count;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_ZERO_RETURN) {
    return tl::unexpected(boost::system::error_code(boost::asio::error::eof));
  }
  const bool owes_too_much = BIO_ctrl_pending(SSL_get_wbio(ssl_.get())) > kOwedBytesMax;
  if (error == SSL_ERROR_WANT_READ && !owes_too_much) return 0;
  failed_ = true;
  return tl::unexpected(make_error_code(protocol_error));
}

bool TlsSession::write(std::string_view bytes) {
  if (failed_) return false;
  ERR_clear_error();
  std::size_t written = 0;
  failed_ = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) != 1;
  return !failed_;
}

bool TlsSession::has_input() const {
  return SSL_has_pending(ssl_.get()) == 1 || BIO_ctrl_pending(SSL_get_rbio(ssl_.get())) > 0;
}

void TlsSession::end() {
  const bool can_end = !failed_ && SSL_is_init_finished(ssl_.get()) == 1;
  const bool has_ended = (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) != 0;
  if (!can_end || has_ended) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

std::string TlsSession::take_output() {
  BIO* const output = SSL_get_wbio(ssl_.get());
  std::string bytes(BIO_ctrl_pending(output), '\0');
  std::size_t count = 0;
  if (!bytes.empty()) BIO_read_ex(output, bytes.data(), bytes.size(), &count);
  bytes.resize(count);
  return bytes;
}

}  // namespace forge::serve
