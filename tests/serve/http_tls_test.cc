// What TLS alone has: its handshake, its end, its certificate, what is not TLS at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "forge/serve/http_server.h"
#include "serve/test_server.h"
#include "serve/trial_certificate.h"

namespace forge::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TestServerOptions secure(serve::HttpOptions http = {}) {
  return {.http = http, .certificate = trial_certificate()};
}

ServerPlace plain(const TestServer& server) { return server.port(); }

bool is_running(const engine::EngineStatus& status) { return status.running == 1; }

/// A client that does the handshake by hand, so that the test sees each byte before it is sent.
class HandMade {
 public:
  explicit HandMade(const TestServer& server) : client_(plain(server)) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_security_level(context_.get(), 0);
  }

  SSL_CTX* context() { return context_.get(); }
  SSL* tls() { return tls_.get(); }

  /// With one byte changed, if one is named, and nothing sent behind what has it.
  bool shake_hands(std::optional<std::size_t> changed = std::nullopt) {
    begin();
    for (;;) {
      const int result = SSL_do_handshake(tls_.get());
      const bool waits = SSL_get_error(tls_.get(), result) == SSL_ERROR_WANT_READ;
      std::string output = take_output();
      const bool has_it = changed && *changed >= sent_ && *changed < sent_ + output.size();
      if (has_it) output[*changed - sent_] = static_cast<char>(output[*changed - sent_] ^ 0x5a);
      sent_ += output.size();
      send(output);
      if (has_it) client_.close_sending_side();
      if (result == 1) return true;
      if (!waits || !receive()) return false;
    }
  }
  /// Sends no more than so many bytes of it, and goes.
  void break_off_after(std::size_t bytes) {
    begin();
    SSL_do_handshake(tls_.get());
    send(take_output().substr(0, bytes));
    client_.close();
  }
  std::size_t sent() const { return sent_; }

  /// False when the server has closed the connection.
  bool send(const std::string& bytes) {
    try {
      client_.send(bytes);
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }
  std::string take_output() {
    BIO* const output = SSL_get_wbio(tls_.get());
    std::string bytes(BIO_ctrl_pending(output), '\0');
    if (!bytes.empty()) BIO_read(output, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  void begin() {
    tls_.reset(SSL_new(context_.get()));
    SSL_set_bio(tls_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(tls_.get());
  }
  bool receive() {
    const std::string bytes = client_.receive_some();
    BIO_write(SSL_get_rbio(tls_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return !bytes.empty();
  }

  HttpClient client_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> tls_;
  std::size_t sent_ = 0;
};

TEST(HttpTls, a_handshake_that_is_not_finished_in_time_is_closed) {
  TestServer server(secure({.header_timeout = milliseconds(100)}));
  HttpClient silent(plain(server));
  HttpClient begun(plain(server));
  begun.send(std::string("\x16\x03\x01\x02", 4));
  EXPECT_TRUE(silent.closed_by_server());
  EXPECT_TRUE(begun.closed_by_server());
}

TEST(HttpTls, a_client_without_a_handshake_gives_way_to_others) {
  TestServer server(secure({.max_connections = 1}));
  HttpClient silent(plain(server));
  EXPECT_EQ(HttpClient(server.place()).get("/v1/models").status, 200U);
  EXPECT_TRUE(silent.closed_by_server());
}

TEST(HttpTls, a_handshake_that_is_not_finished_does_not_hold_up_a_shutdown) {
  TestServer server(secure());
  HttpClient silent(plain(server));
  EXPECT_EQ(HttpClient(server.place()).get("/healthz").status, 200U) << "silent has come before";
  server->shutdown();
  server->wait_for_end();
  EXPECT_TRUE(silent.closed_by_server());
}

TEST(HttpTls, a_client_that_speaks_http_is_told_to_speak_tls) {
  TestServer server(secure());
  HttpClient client(plain(server));
  const auto response = client.get("/healthz");
  EXPECT_EQ(response.status, 400U);
  EXPECT_EQ(response.json()["error"]["code"], "tls_needed");
  EXPECT_EQ(response.header("Connection"), "close");
  EXPECT_TRUE(client.closed_by_server());
  HttpClient nonsense(plain(server));
  nonsense.send("SSH-2.0-OpenSSH_9.2\r\n");
  EXPECT_THAT(nonsense.read_to_end(), ::testing::Not(HasSubstr("HTTP")));
}

TEST(HttpTls, bytes_that_are_wrong_at_any_place_of_a_handshake_end_that_connection_alone) {
  TestServer server(secure());
  HttpClient witness(server.place());
  HandMade whole(server);
  ASSERT_TRUE(whole.shake_hands());
  ASSERT_GT(whole.sent(), 200U);
  for (std::size_t at = 0; at < whole.sent(); ++at) {
    HandMade(server).shake_hands(at);
    HandMade(server).break_off_after(at);
  }
  EXPECT_EQ(witness.get("/healthz").status, 200U);
  EXPECT_EQ(HttpClient(server.place()).get("/healthz").status, 200U);
}

TEST(HttpTls, versions_before_1_2_are_not_spoken) {
  TestServer server(secure());
  for (const auto& [version, spoken] :
       {std::pair(TLS1_1_VERSION, false), std::pair(TLS1_2_VERSION, true),
        std::pair(TLS1_3_VERSION, true)}) {
    HandMade client(server);
    SSL_CTX_set_min_proto_version(client.context(), version);
    SSL_CTX_set_max_proto_version(client.context(), version);
    EXPECT_EQ(client.shake_hands(), spoken) << version;
  }
}

TEST(HttpTls, http_1_1_is_the_protocol_that_is_agreed_on) {
  TestServer server(secure());
  const auto agreed = [&server](const std::string& offered) -> std::string {
    HandMade client(server);
    SSL_CTX_set_alpn_protos(client.context(),
                            reinterpret_cast<const unsigned char*>(offered.data()),
                            static_cast<unsigned>(offered.size()));
    if (!client.shake_hands()) return "refused";
    const unsigned char* protocol = nullptr;
    unsigned bytes = 0;
    SSL_get0_alpn_selected(client.tls(), &protocol, &bytes);
    return bytes == 0 ? "none" : std::string(reinterpret_cast<const char*>(protocol), bytes);
  };
  EXPECT_EQ(agreed(""), "none");
  EXPECT_EQ(agreed("\x02h2\x08http/1.1"), "http/1.1");
  EXPECT_EQ(agreed("\x02h2"), "refused");
}

TEST(HttpTls, a_client_that_says_its_end_has_gone) {
  TestServer server(secure());
  server.executor.slow_down(milliseconds(1));
  HttpClient client(server.place());
  client.send(HttpClient::text("/v1/completions", completion("x", 8000)));
  ASSERT_TRUE(server->eventually(is_running));
  client.send_close_notify();
  ASSERT_TRUE(server->eventually_idle());
  EXPECT_LT(server.loop().status().generated_tokens, 8000U);
}

TEST(HttpTls, keys_that_a_client_renews_change_nothing) {
  TestServer server(secure());
  HttpClient client(server.place());
  for (int i = 0; i < 3; ++i) {
    client.renew_keys();
    EXPECT_EQ(client.post("/v1/completions", completion("x", 3)).status, 200U);
  }
}

TEST(HttpTls, a_client_that_asks_for_new_keys_without_end_is_closed) {
  TestServer server(secure());
  server.executor.allow_only(0);
  HandMade client(server);
  SSL_CTX_set_min_proto_version(client.context(), TLS1_3_VERSION);
  ASSERT_TRUE(client.shake_hands());
  const std::string request = HttpClient::text("/v1/completions", completion("x", 3));
  SSL_write(client.tls(), request.data(), static_cast<int>(request.size()));
  ASSERT_TRUE(client.send(client.take_output()));
  ASSERT_TRUE(
      server->eventually([](const engine::EngineStatus& s) { return s.running + s.waiting == 1; }));
  bool is_open = true;
  for (int i = 0; i < 1'000'000 && is_open; ++i) {
    SSL_key_update(client.tls(), SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(client.tls());
    is_open = client.send(client.take_output());
  }
  EXPECT_FALSE(is_open);
  server.executor.release();
  EXPECT_TRUE(server->eventually_idle());
}

TEST(HttpTls, a_new_certificate_is_for_new_connections) {
  TestServer server(secure());
  HttpClient old(server.place());
  EXPECT_EQ(old.name_of_server(), "trial");
  server->set_certificate(trial_certificate("renewed"));
  EXPECT_EQ(old.get("/healthz").status, 200U);
  HttpClient young(server.place());
  EXPECT_EQ(young.name_of_server(), "renewed");
  EXPECT_EQ(young.get("/healthz").status, 200U);
  EXPECT_EQ(old.get("/healthz").status, 200U);
}

TEST(HttpTls, beyond_this_machine_it_takes_keys_and_a_certificate) {
  const auto listens = [](bool keys, bool certificate, bool insecure = false) {
    boost::asio::io_context io;
    serve::HttpServer server(io, {.insecure = insecure});
    if (keys) {
      server.set_keys(serve::ApiKeys::parse(serve::make_key("alice:client").value().line).value());
    }
    if (certificate) server.set_certificate(trial_certificate());
    const auto listening = server.listen({.host = "0.0.0.0", .port = 0});
    return listening ? "yes" : listening.error();
  };
  EXPECT_EQ(listens(true, true), "yes");
  EXPECT_EQ(listens(false, false, true), "yes");
  const std::string begin =
      "cannot listen on 0.0.0.0:0: others than this machine can reach it, and ";
  const std::string no_keys = "anybody may ask (there is no --api-key-file)";
  const std::string no_tls = "keys and answers can be read on their way (there is no --tls-cert)";
  const std::string end = "; --insecure does it all the same";
  EXPECT_EQ(listens(false, false), begin + no_keys + ", and " + no_tls + end);
  EXPECT_EQ(listens(true, false), begin + no_tls + end);
  EXPECT_EQ(listens(false, true), begin + no_keys + end);
}

}  // namespace
}  // namespace forge::test
