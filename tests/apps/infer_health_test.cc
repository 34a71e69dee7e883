// forge-infer as those see it who keep it running: probes, a service manager.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

#include "apps/programs.h"
#include "apps/server_process.h"
#include "serve/trial_certificate.h"

namespace forge::testing {
namespace {

using test::HttpClient;

Outcome probe(const std::string& url) { return run(FORGE_INFER " --probe '" + url + "'"); }

/// A server that cannot get on with its start: its trace is a pipe without a reader.
class LoadingPrograms : public ProgramTest {
 protected:
  LoadingPrograms() {
    EXPECT_EQ(mkfifo(path("trace").c_str(), 0600), 0);
    server_.emplace(std::vector<std::string>{FORGE_INFER, "--addr", "127.0.0.1:0", "--model",
                                             FORGE_TALES, "--trace", path("trace")});
    const std::string before = "loading the model; listening on http://127.0.0.1:";
    EXPECT_TRUE(server_->says(before) && server_->says(" of weights")) << server_->said();
    const std::string& said = server_->said();
    place_ = "http://127.0.0.1:" +
             std::to_string(std::stoi(said.substr(said.find(before) + before.size())));
  }

  std::optional<ChildProcess> server_;
  std::string place_;
};

TEST_F(LoadingPrograms, a_probe_hears_that_the_model_is_loaded_until_it_is_there) {
  Outcome asked = probe(place_);
  EXPECT_EQ(asked.status, 1);
  EXPECT_EQ(asked.output, "{\"status\":\"loading\"}\n");
  asked = probe(place_ + "/health/live");
  EXPECT_EQ(asked.status, 0);
  EXPECT_EQ(asked.output, "{\"status\":\"loading\"}\n");

  const std::ifstream reader(path("trace"));
  ASSERT_TRUE(server_->says("max_tokens\": 64}'\n")) << server_->said();
  asked = probe(place_);
  EXPECT_EQ(asked.status, 0);
  EXPECT_EQ(asked.output, "{\"status\":\"ok\"}\n");
  server_->send(SIGTERM);
  EXPECT_EQ(server_->wait(), 0);
}

TEST_F(LoadingPrograms, a_signal_does_not_wait_for_the_model) {
  server_->send(SIGTERM);
  EXPECT_EQ(server_->wait(), 0);
}

using ProbePrograms = ProgramTest;

TEST_F(ProbePrograms, ask_over_tls_and_unix_sockets_too) {
  const test::TrialCertificate made = test::make_certificate("anybody");
  std::ofstream(path("cert.pem")) << made.certificate;
  test::write_secret(path("key.pem"), made.key);
  ServerProcess secure({"--tls-cert", path("cert.pem"), "--tls-key", path("key.pem")});
  const std::string authority = "127.0.0.1:" + std::to_string(secure.port());
  EXPECT_EQ(probe("https://" + authority).output, "{\"status\":\"ok\"}\n");
  EXPECT_EQ(probe("https://" + authority + "/health/live").status, 0);
  EXPECT_EQ(probe("http://" + authority).status, 1) << "it speaks TLS";
  EXPECT_EQ(secure.end(), 0);

  ChildProcess local({FORGE_INFER, "--addr", "unix:" + path("socket")});
  ASSERT_TRUE(local.says("max_tokens\": 64}'\n")) << local.said();
  EXPECT_EQ(probe("unix:" + path("socket")).status, 0);
  local.send(SIGTERM);
  EXPECT_EQ(local.wait(), 0);
  const Outcome gone = probe("unix:" + path("socket"));
  EXPECT_EQ(gone.status, 1);
  EXPECT_EQ(gone.output,
            "forge-infer: no answer from unix:" + path("socket") + ": No such file or directory\n");
}

TEST_F(ProbePrograms, what_is_no_address_is_named) {
  for (const std::string url : {"127.0.0.1:8080", "ftp://127.0.0.1:8080", "http://", "http:///x",
                                "http://127.0.0.1:99999", "unix:socket", ""}) {
    const Outcome outcome = probe(url);
    EXPECT_EQ(outcome.status, 2) << url;
    EXPECT_TRUE(has(outcome, "--probe")) << outcome.output;
  }
}

TEST(VersionPrograms, say_how_they_were_built_and_for_what) {
  const Outcome outcome = run(FORGE_INFER " --version");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.output.starts_with("forge-infer 0.")) << outcome.output;
  EXPECT_TRUE(has(outcome, "; targets cpu")) << outcome.output;
  EXPECT_TRUE(has(outcome, ", null)\n")) << outcome.output;
}

/// systemd, for a service of Type=notify.
class ServicePrograms : public ProgramTest {
 protected:
  ServicePrograms() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path("notify").copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~ServicePrograms() override { ::close(socket_); }

  /// What it says next.
  std::string told() const {
    std::string text(256, '\0');
    const ssize_t count = ::recv(socket_, text.data(), text.size(), 0);
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }
  std::string told_but(const std::string& passed_over) const {
    std::string text;
    do {
      text = told();
    } while (text == passed_over);
    return text;
  }
  std::unique_ptr<ServerProcess> start(const std::string& variables) const {
    return ServerProcess::by_shell(
        ".", "env NOTIFY_SOCKET='" + path("notify") + "' " + variables + " " FORGE_INFER);
  }

  int socket_;
};

TEST_F(ServicePrograms, are_told_of_the_start_and_of_the_end) {
  const auto server = start("");
  EXPECT_EQ(told(), "READY=1");
  server->send(SIGTERM);
  EXPECT_EQ(told(), "STOPPING=1");
  EXPECT_EQ(server->wait(), 0);
}

TEST_F(ServicePrograms, are_fed_a_watchdog_that_is_for_this_process) {
  const auto server = start("WATCHDOG_USEC=20000");
  EXPECT_EQ(told(), "READY=1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(told(), "WATCHDOG=1");
  server->send(SIGTERM);
  EXPECT_EQ(told_but("WATCHDOG=1"), "STOPPING=1");
  EXPECT_EQ(server->wait(), 0);

  const auto other = start("WATCHDOG_USEC=1000 WATCHDOG_PID=1");
  EXPECT_EQ(told_but("WATCHDOG=1"), "READY=1");
  EXPECT_EQ(other->health().status, 200U);
  other->send(SIGTERM);
  EXPECT_EQ(told(), "STOPPING=1");
  EXPECT_EQ(other->wait(), 0);
}

}  // namespace
}  // namespace forge::testing
