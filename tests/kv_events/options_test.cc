#include "forge/kv_events/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forge::kv_events {
namespace {

using testing::HasSubstr;

std::string why_not(const KvEventOptions& options) {
  const auto valid = validate(options);
  return valid ? "" : valid.error();
}

TEST(KvEventOptions, this_machine_binds_and_others_are_connected_to) {
  struct Case {
    const char* text;
    Endpoint endpoint;
  };
  for (const auto& [text, endpoint] : {
           Case{"tcp://127.0.0.1:5557", {"tcp://127.0.0.1:5557", true, true}},
           Case{"tcp://127.9.8.7:*", {"tcp://127.9.8.7:*", true, true}},
           Case{"tcp://localhost:5557", {"tcp://127.0.0.1:5557", true, true}},
           Case{"tcp://[::1]:0", {"tcp://[::1]:0", true, true}},
           Case{"ipc:///run/events", {"ipc:///run/events", true, true}},
           Case{"ipc://*", {"ipc://*", true, true}},
           Case{"tcp://*:5557", {"tcp://*:5557", true, false}},
           Case{"tcp://[::]:5557", {"tcp://[::]:5557", true, false}},
           Case{"tcp://[fe80::1]:5557", {"tcp://[fe80::1]:5557", true, false}},
           Case{"tcp://0.0.0.0:5557", {"tcp://0.0.0.0:5557", false, false}},
           Case{"tcp://10.0.0.7:1", {"tcp://10.0.0.7:1", false, false}},
           Case{"tcp://127.example:65535", {"tcp://127.example:65535", false, false}},
           Case{"tcp://127.0.0.1.example:1", {"tcp://127.0.0.1.example:1", false, false}},
           Case{"tcp://127.0.0.256:1", {"tcp://127.0.0.256:1", false, false}},
           Case{"tcp://indexer:5557", {"tcp://indexer:5557", false, false}},
       }) {
    const auto parsed = parse_endpoint(text);
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(*parsed, endpoint) << text;
  }
}

TEST(KvEventOptions, what_is_no_endpoint_is_refused_by_name) {
  struct Case {
    const char* text;
    const char* why;
  };
  for (const auto& [text, why] : {
           Case{"", "accepted is tcp://HOST:PORT or ipc://PATH"},
           Case{"127.0.0.1:5557", "accepted is tcp://HOST:PORT or ipc://PATH"},
           Case{"http://127.0.0.1:5557", "accepted is tcp://HOST:PORT or ipc://PATH"},
           Case{"inproc://events", "accepted is tcp://HOST:PORT or ipc://PATH"},
           Case{"ipc://", "accepted is tcp://HOST:PORT or ipc://PATH"},
           Case{"tcp://", "tcp has HOST:PORT"},
           Case{"tcp://:5557", "tcp has HOST:PORT"},
           Case{"tcp://host", "tcp has HOST:PORT"},
           Case{"tcp://::1:5557", "an IPv6 address stands in brackets"},
           Case{"tcp://[::1:5557", "an IPv6 address stands in brackets"},
           Case{"tcp://10.0.0.1;10.0.0.2:5557", "no '/', ';', '@' or space"},
           Case{"tcp://127.0.0.1:", "a port is 1 .. 65535"},
           Case{"tcp://127.0.0.1:65536", "a port is 1 .. 65535"},
           Case{"tcp://127.0.0.1:55x", "a port is 1 .. 65535"},
           Case{"tcp://127.0.0.1:-1", "a port is 1 .. 65535"},
           Case{"tcp://indexer:*", "whom it connects to has a port"},
           Case{"tcp://indexer:0", "whom it connects to has a port"},
       }) {
    const auto parsed = parse_endpoint(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error(), HasSubstr(std::string("'") + text + "' is no endpoint: "));
    EXPECT_THAT(parsed.error(), HasSubstr(why));
  }
}

TEST(KvEventOptions, others_follow_only_where_that_was_asked_for) {
  KvEventOptions options{.endpoint = "tcp://*:5557"};
  EXPECT_THAT(why_not(options),
              HasSubstr("the endpoint of events, 'tcp://*:5557', can be reached"));
  options.is_public = true;
  EXPECT_EQ(why_not(options), "");
  options = {.endpoint = "ipc://events", .replay_endpoint = "tcp://0.0.0.0:5558"};
  EXPECT_THAT(why_not(options), HasSubstr("the endpoint of replays, 'tcp://0.0.0.0:5558'"));
  options.is_public = true;
  EXPECT_EQ(why_not(options), "");
  options.replay_endpoint = "udp://x";
  EXPECT_THAT(why_not(options), HasSubstr("'udp://x' is no endpoint"));
}

TEST(KvEventOptions, a_topic_has_no_mark_or_two) {
  for (const char* topic : {"", "kv", "kv@10.0.0.7:8080@forge-tiny", "@@"}) {
    EXPECT_EQ(why_not({.endpoint = "ipc://events", .topic = topic}), "") << topic;
  }
  EXPECT_EQ(why_not({.endpoint = "ipc://events", .topic = "kv@pod"}),
            "the topic 'kv@pod' has 1 '@'; accepted are none, or two: kv@ADDRESS@MODEL");
  EXPECT_NE(why_not({.endpoint = "ipc://events", .topic = "kv@pod@mail@host"}), "");
}

}  // namespace
}  // namespace forge::kv_events
