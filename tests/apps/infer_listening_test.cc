// forge-infer as a process: where it listens, and with what certificate.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/programs.h"
#include "apps/server_process.h"
#include "serve/trial_certificate.h"

namespace forge::testing {
namespace {

using test::HttpClient;

class CertificatePrograms : public ProgramTest {
 protected:
  void write(const test::TrialCertificate& made) const {
    std::ofstream(path("cert.pem")) << made.certificate;
    test::write_secret(path("key.pem"), made.key);
  }
  std::vector<std::string> flags() const {
    return {"--tls-cert", path("cert.pem"), "--tls-key", path("key.pem")};
  }
  /// What the program says that does not start.
  std::string refusal() const {
    const Outcome outcome = run(FORGE_INFER " --addr 127.0.0.1:0 --tls-cert " + path("cert.pem") +
                                " --tls-key " + path("key.pem"));
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    return outcome.output;
  }
  static std::string name_at(const ServerProcess& server) {
    HttpClient client({server.port(), "", true});
    EXPECT_EQ(client.get("/healthz").status, 200U);
    return client.name_of_server();
  }
};

TEST_F(CertificatePrograms, a_certificate_is_read_again_on_a_hangup) {
  write(test::make_certificate("first"));
  ServerProcess server(flags());
  EXPECT_NE(server.said().find("listening on https://127.0.0.1:"), std::string::npos);
  EXPECT_NE(
      server.said().find("\nopen https://127.0.0.1:" + std::to_string(server.port()) + "/ in"),
      std::string::npos)
      << server.said();
  EXPECT_EQ(name_at(server), "first");

  write(test::make_certificate("second"));
  server.send(SIGHUP);
  ASSERT_TRUE(server.says("--tls-cert: read again\n")) << server.said();
  EXPECT_EQ(name_at(server), "second");

  std::ofstream(path("key.pem")) << "nonsense\n";
  server.send(SIGHUP);
  ASSERT_TRUE(server.says("the certificate is that of before\n")) << server.said();
  EXPECT_NE(server.said().find("the key '" + path("key.pem") + "' is not PEM"), std::string::npos);
  EXPECT_EQ(name_at(server), "second");
  EXPECT_EQ(server.end(), 0);
}

TEST_F(CertificatePrograms, a_certificate_that_cannot_be_used_ends_the_program) {
  const std::string certificate = "forge-infer: the certificate '" + path("cert.pem") + "' ";
  EXPECT_NE(refusal().find(certificate + "cannot be read: No such file"), std::string::npos);
  write({.certificate = "nonsense", .key = ""});
  EXPECT_NE(refusal().find(certificate + "is not PEM"), std::string::npos);
  write({.certificate = test::make_certificate("a").certificate,
         .key = test::make_certificate("b").key});
  const std::string key = "forge-infer: the key '" + path("key.pem") + "' ";
  EXPECT_NE(refusal().find(key + "is not that of the certificate"), std::string::npos);
  std::filesystem::permissions(path("key.pem"), std::filesystem::perms(0644));
  EXPECT_NE(refusal().find(key + "may be read or written by others"), std::string::npos);
}

TEST_F(CertificatePrograms, one_that_has_expired_is_served_and_named) {
  write(test::make_certificate("old", -10, -3));
  ServerProcess server(flags());
  EXPECT_NE(server.said().find("the certificate '" + path("cert.pem") + "' expired on 2"),
            std::string::npos)
      << server.said();
  EXPECT_EQ(name_at(server), "old");
  EXPECT_EQ(server.end(), 0);
}

TEST_F(CertificatePrograms, a_certificate_and_its_key_need_each_other) {
  for (const std::string flag : {"--tls-cert", "--tls-key"}) {
    const Outcome outcome = run(FORGE_INFER " " + flag + " file.pem");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_TRUE(has(outcome, "--tls-cert and --tls-key need each other")) << outcome.output;
  }
}

using SocketPrograms = ProgramTest;

TEST_F(SocketPrograms, a_server_at_a_unix_socket_says_how_it_is_asked) {
  ChildProcess server({FORGE_INFER, "--addr", "unix:" + path("socket")});
  ASSERT_TRUE(server.says("max_tokens\": 64}'\n")) << server.said();
  EXPECT_NE(server.said().find("listening on unix:" + path("socket") + "\n"), std::string::npos);
  EXPECT_EQ(server.said().find("in a browser"), std::string::npos) << "no browser can";
  EXPECT_NE(server.said().find("curl --unix-socket '" + path("socket") +
                               "' 'http://localhost/v1/completions'"),
            std::string::npos)
      << server.said();
  HttpClient client({0, path("socket"), false});
  EXPECT_EQ(client.post("/v1/completions", ServerProcess::question(3)).status, 200U);
  client.close();
  server.send(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(path("socket")));
}

TEST_F(SocketPrograms, a_path_where_something_else_is_ends_the_program) {
  std::ofstream(path("socket")) << "precious";
  Outcome outcome = run(FORGE_INFER " --addr unix:" + path("socket"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome, "unix:" + path("socket") + ": there is a file that is no socket"))
      << outcome.output;
  outcome = run(FORGE_INFER " --addr unix:8080");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(has(outcome, "a PATH has a '/'")) << outcome.output;
}

using CorsPrograms = ProgramTest;

TEST_F(CorsPrograms, pages_of_each_site_that_is_named_may_ask) {
  ServerProcess server({"--cors-origin", "https://a.example", "--cors-origin", "http://b:3000"});
  ASSERT_TRUE(server.listens());
  for (const std::string origin : {"https://a.example", "http://b:3000", "http://b"}) {
    HttpClient client(server.port());
    client.send(HttpClient::text("GET", "/v1/models", "", {{"Origin", origin}}));
    EXPECT_EQ(client.read().header("Access-Control-Allow-Origin"),
              origin == "http://b" ? "" : origin);
  }
  EXPECT_EQ(server.end(), 0);
}

TEST_F(CorsPrograms, what_is_no_origin_is_refused) {
  const Outcome outcome = run(FORGE_INFER " --cors-origin https://a.example/");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(has(outcome, "--cors-origin: 'https://a.example/' is not an origin: it has a path"))
      << outcome.output;
}

}  // namespace
}  // namespace forge::testing
