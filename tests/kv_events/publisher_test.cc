// The publisher, as ZeroMQ's own sockets meet it.
#include "forge/kv_events/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <zmq.hpp>
#include <zmq_addon.hpp>

#include "replay_request.h"

namespace forge::kv_events {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Frames = std::vector<std::string>;

constexpr int kPatienceMs = 30'000;
const std::string kEnd(8, '\xff');

KvEventBatch batch(std::uint64_t hash) {
  return {.timestamp = 1, .events = {BlockRemoved{.hashes = {hash}}}};
}
std::string bytes(std::uint64_t hash) { return encode(batch(hash), KvEventFormat::map); }

/// One who connects.
class Client {
 public:
  Client(zmq::socket_type type, const std::string& endpoint) : socket_(context_, type) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, kPatienceMs);
    if (type == zmq::socket_type::sub) socket_.set(zmq::sockopt::subscribe, "");
    socket_.connect(endpoint);
  }

  void send(const Frames& frames) {
    std::vector<zmq::message_t> parts;
    for (const std::string& frame : frames) parts.emplace_back(frame.data(), frame.size());
    ASSERT_TRUE(zmq::send_multipart(socket_, parts));
  }
  bool has_message() {
    zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    return zmq::poll(&item, 1, std::chrono::milliseconds(0)) > 0;
  }
  Frames receive() {
    std::vector<zmq::message_t> parts;
    if (!zmq::recv_multipart(socket_, std::back_inserter(parts))) {
      throw std::runtime_error("nothing came");
    }
    Frames frames;
    for (const zmq::message_t& part : parts) frames.push_back(part.to_string());
    return frames;
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

class KvEventPublisherTest : public testing::Test {
 protected:
  void open() {
    auto opened = KvEventPublisher::open(options);
    ASSERT_TRUE(opened) << opened.error();
    publisher = *std::move(opened);
  }
  /// Publishes until `follower` has subscribed, which nobody else can see.
  Frames first_message(Client& follower) {
    while (!follower.has_message()) publish();
    return follower.receive();
  }
  void publish() { publisher->publish(batch(next++)); }
  std::string replay_endpoint() const { return publisher->replay_endpoint(); }

  KvEventOptions options{.endpoint = "tcp://127.0.0.1:*",
                         .replay_endpoint = "tcp://127.0.0.1:*",
                         .topic = "kv@pod@tiny"};
  std::unique_ptr<KvEventPublisher> publisher;
  std::uint64_t next = 0;  // batch i has hash i
};

TEST_F(KvEventPublisherTest, a_message_is_topic_sequence_and_bytes) {
  open();
  Client follower(zmq::socket_type::sub, publisher->endpoint());
  const Frames first = first_message(follower);
  ASSERT_EQ(first.size(), 3U);
  std::uint64_t sequence = *parse_replay_request({{"", "", first[1]}});
  publish();
  for (; sequence + 1 < next; ++sequence) {
    const Frames frames = follower.receive();
    EXPECT_THAT(frames,
                ElementsAre("kv@pod@tiny", sequence_bytes(sequence + 1), bytes(sequence + 1)));
  }
}

TEST_F(KvEventPublisherTest, what_was_missed_is_replayed_and_ends_with_a_mark) {
  open();
  for (int i = 0; i < 5; ++i) publish();
  Client late(zmq::socket_type::dealer, replay_endpoint());
  // Batches and requests come in different ways: ask until the last one is there.
  Frames last;
  while (last != Frames{"", sequence_bytes(4), bytes(4)}) {
    late.send({"", sequence_bytes(4)});
    last = late.receive();
    while (last[1] != kEnd && late.receive()[1] != kEnd) {
    }
  }
  late.send({"", sequence_bytes(2)});
  for (const std::uint64_t sequence : {2U, 3U, 4U}) {
    EXPECT_THAT(late.receive(), ElementsAre("", sequence_bytes(sequence), bytes(sequence)));
  }
  EXPECT_THAT(late.receive(), ElementsAre("", kEnd, ""));
  EXPECT_FALSE(late.has_message());
}

TEST_F(KvEventPublisherTest, only_the_last_batches_are_kept) {
  options.kept_max = 3;
  open();
  Client follower(zmq::socket_type::sub, publisher->endpoint());
  first_message(follower);
  for (int i = 0; i < 10; ++i) publish();
  while (follower.receive()[1] != sequence_bytes(next - 1)) {
  }
  Client late(zmq::socket_type::dealer, replay_endpoint());
  late.send({"", sequence_bytes(0)});
  for (std::uint64_t sequence = next - 3; sequence < next; ++sequence) {
    EXPECT_THAT(late.receive(), ElementsAre("", sequence_bytes(sequence), bytes(sequence)));
  }
  EXPECT_THAT(late.receive(), ElementsAre("", kEnd, ""));
}

TEST_F(KvEventPublisherTest, as_many_replays_as_are_read_are_whole) {
  options.kept_max = 500;
  open();
  Client follower(zmq::socket_type::sub, publisher->endpoint());
  first_message(follower);
  for (int i = 0; i < 1000; ++i) publish();
  while (follower.receive()[1] != sequence_bytes(next - 1)) {
  }
  Client late(zmq::socket_type::dealer, replay_endpoint());
  for (int round = 0; round < 20; ++round) {
    late.send({"", sequence_bytes(0)});
    int batches = 0;
    while (late.receive()[1] != kEnd) ++batches;
    EXPECT_EQ(batches, 500);
  }
  EXPECT_EQ(publisher->counts().replays, 20U);
}

TEST_F(KvEventPublisherTest, what_is_no_request_is_counted_and_others_are_answered) {
  open();
  Client client(zmq::socket_type::dealer, replay_endpoint());
  const std::vector<Frames> bad = {{""},
                                   {"", ""},
                                   {sequence_bytes(0)},
                                   {"", "1234567"},
                                   {"", "123456789"},
                                   {"x", ""},
                                   {"", "", "", "", "", "", ""},
                                   {"", sequence_bytes(0), ""}};
  for (const Frames& frames : bad) client.send(frames);
  client.send({"", sequence_bytes(0)});
  EXPECT_THAT(client.receive(), ElementsAre("", kEnd, ""));
  EXPECT_EQ(publisher->counts().bad_requests, bad.size());
  EXPECT_EQ(publisher->counts().replays, 1U);
}

TEST_F(KvEventPublisherTest, a_frame_that_is_too_long_ends_its_connection_alone) {
  open();
  Client hostile(zmq::socket_type::dealer, replay_endpoint());
  hostile.send({"", std::string(1 << 20, 'x')});
  Client client(zmq::socket_type::dealer, replay_endpoint());
  client.send({"", sequence_bytes(0)});
  EXPECT_THAT(client.receive(), ElementsAre("", kEnd, ""));
}

TEST_F(KvEventPublisherTest, a_queue_without_room_drops_and_counts) {
  options.queue_max = 0;
  open();
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(publisher->publish({}));
  EXPECT_EQ(publisher->counts().dropped, 7U);
  EXPECT_EQ(publisher->counts().published, 0U);
}

TEST_F(KvEventPublisherTest, what_is_queued_is_sent_before_the_end) {
  options.replay_endpoint.clear();
  open();
  EXPECT_EQ(publisher->replay_endpoint(), "");
  Client follower(zmq::socket_type::sub, publisher->endpoint());
  first_message(follower);
  for (int i = 0; i < 1000; ++i) publish();
  publisher.reset();
  while (follower.receive()[1] != sequence_bytes(next - 1)) {
  }
}

TEST_F(KvEventPublisherTest, a_place_that_is_taken_is_named) {
  open();
  const auto second = KvEventPublisher::open({.endpoint = publisher->endpoint()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), "cannot bind '" + publisher->endpoint() + "': Address already in use");
  const auto nowhere = KvEventPublisher::open({.endpoint = "ipc:///nowhere/at/all"});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error(), HasSubstr("cannot bind 'ipc:///nowhere/at/all': "));
  const auto refused = KvEventPublisher::open({.endpoint = "tcp://*:0"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("can be reached by others"));
}

TEST_F(KvEventPublisherTest, a_file_is_left_alone_and_so_is_a_socket_where_somebody_listens) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("forge_kv_events_" + std::to_string(std::random_device{}()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "events";
  const KvEventOptions there{.endpoint = "ipc://" + path};
  std::ofstream(path) << "letter";
  const auto over_file = KvEventPublisher::open(there);
  ASSERT_FALSE(over_file);
  EXPECT_EQ(over_file.error(),
            "cannot bind '" + there.endpoint + "': there is a file that is no socket");
  EXPECT_EQ(std::filesystem::file_size(path), 6U);

  std::filesystem::remove(path);
  auto first = KvEventPublisher::open(there);
  ASSERT_TRUE(first) << first.error();
  const auto second = KvEventPublisher::open(there);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), "cannot bind '" + there.endpoint + "': somebody listens there");
  first->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(KvEventPublisher::open(there));
  std::filesystem::remove_all(folder);
}

TEST_F(KvEventPublisherTest, a_socket_that_a_killed_program_has_left_is_replaced) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("forge_kv_events_" + std::to_string(std::random_device{}()));
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  path.string().copy(name.sun_path, sizeof(name.sun_path) - 1);
  const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  ::close(left);
  ASSERT_TRUE(std::filesystem::exists(path));
  const auto opened = KvEventPublisher::open({.endpoint = "ipc://" + path.string()});
  EXPECT_TRUE(opened) << opened.error();
}

TEST_F(KvEventPublisherTest, a_follower_that_is_the_fixed_point_is_connected_to) {
  zmq::context_t context;
  zmq::socket_t indexer(context, zmq::socket_type::sub);
  indexer.set(zmq::sockopt::subscribe, "kv@");
  indexer.set(zmq::sockopt::rcvtimeo, 0);
  indexer.bind("tcp://*:*");
  std::string place = indexer.get(zmq::sockopt::last_endpoint);
  // Every address of this machine: what is not loopback by its text is connected to.
  options.endpoint = "tcp://0.0.0.0" + place.substr(place.rfind(':'));
  options.replay_endpoint.clear();
  options.is_public = true;
  open();
  EXPECT_EQ(publisher->endpoint(), options.endpoint);
  zmq::message_t topic;
  while (!indexer.recv(topic)) publish();
  EXPECT_EQ(topic.to_string(), "kv@pod@tiny");
}

}  // namespace
}  // namespace forge::kv_events
