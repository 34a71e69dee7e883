// The file of a Unix socket: whose place it takes, who may use it, when it goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <string>

#include "forge/serve/http_server.h"
#include "formats/scratch_folder.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;

class HttpUnixSocket : public ::testing::Test {
 protected:
  std::string path() const { return folder_.file("socket"); }
  TestServerOptions options() const { return {.address = {.path = path()}}; }

  /// What a server says that cannot listen there.
  std::string error() const {
    boost::asio::io_context io;
    serve::HttpServer server(io, {});
    const auto listening = server.listen({.path = path()});
    return listening ? "none" : listening.error();
  }

  formats::testing::ScratchFolder folder_;
};

TEST_F(HttpUnixSocket, is_for_its_owner_and_group_whatever_the_umask) {
  for (const mode_t mask : {0U, 0077U, 0177U}) {
    const mode_t before = ::umask(mask);
    const TestServer server(options());
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0660U) << mask;
  }
}

TEST_F(HttpUnixSocket, takes_the_place_of_one_where_nobody_listens) {
  const int left = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(left);
  const TestServer server(options());
  EXPECT_EQ(HttpClient(server.place()).get("/healthz").status, 200U);
}

TEST_F(HttpUnixSocket, of_a_server_that_listens_is_left_alone) {
  TestServer server(options());
  EXPECT_EQ(error(), "cannot listen on unix:" + path() + ": a server listens there already");
  EXPECT_EQ(HttpClient(server.place()).get("/healthz").status, 200U);
}

TEST_F(HttpUnixSocket, takes_no_place_of_anything_else) {
  folder_.write("socket", "precious");
  EXPECT_THAT(error(), HasSubstr("there is a file that is no socket"));
  EXPECT_EQ(formats::testing::file_bytes(path()), "precious");
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_THAT(error(), HasSubstr("there is a file that is no socket"));
  std::filesystem::remove(path());
  std::filesystem::create_symlink("nowhere", path());
  EXPECT_THAT(error(), HasSubstr("there is a file that is no socket"));
}

TEST_F(HttpUnixSocket, needs_a_folder) {
  boost::asio::io_context io;
  serve::HttpServer server(io, {});
  EXPECT_THAT(server.listen({.path = folder_.file("no/socket")}).error(),
              HasSubstr("no/socket: No such file or directory"));
}

TEST_F(HttpUnixSocket, goes_with_its_server) {
  TestServer server(options());
  EXPECT_TRUE(std::filesystem::exists(path()));
  server->shutdown();
  server->wait_for_end();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(HttpUnixSocket, that_is_another_by_now_does_not_go) {
  TestServer server(options());
  std::filesystem::remove(path());
  folder_.write("socket", "another's");
  server->shutdown();
  server->wait_for_end();
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(HttpUnixSocket, is_of_this_machine_by_whatever_host) {
  const TestServer server(options());
  const auto status = [&](const std::string& fields) {
    HttpClient client(server.place());
    client.send("GET /forge/v1/cache/stats HTTP/1.1\r\n" + fields + "\r\n");
    return client.read().status;
  };
  EXPECT_EQ(status("Host: localhost\r\n"), 200U);
  EXPECT_EQ(status("Host: forge.example\r\n"), 200U);
  EXPECT_EQ(status("Host: \r\n"), 200U);
  EXPECT_EQ(status("Host: localhost\r\nX-Forwarded-For: 10.0.0.1\r\n"), 403U);
  EXPECT_EQ(status("Host: localhost\r\nOrigin: https://forge.example\r\n"), 403U);
}

}  // namespace
}  // namespace forge::test
