// The streams that a server can be reached by: a test over each of them.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "formats/scratch_folder.h"
#include "serve/test_server.h"
#include "serve/trial_certificate.h"

namespace forge::test {

struct StreamKind {
  const char* name;
  bool is_unix;
  bool has_tls;
};

inline constexpr std::array kStreamKinds{
    StreamKind{"tcp", false, false}, StreamKind{"unix_socket", true, false},
    StreamKind{"tls", false, true}, StreamKind{"tls_over_a_unix_socket", true, true}};

class OverEachStream : public ::testing::TestWithParam<StreamKind> {
 protected:
  TestServerOptions options(TestServerOptions more = {}) const {
    if (GetParam().is_unix) more.address = {.path = folder_.file("socket")};
    if (GetParam().has_tls) more.certificate = trial_certificate();
    return more;
  }

  formats::testing::ScratchFolder folder_;
};

}  // namespace forge::test
