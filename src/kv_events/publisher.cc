#include "forge/kv_events/publisher.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "batch_queue.h"
#include "forge/kv_events/codec.h"
#include "ipc_path.h"
#include "replay_request.h"

namespace forge::kv_events {
namespace {

constexpr int kMessagesPerFollower = 100'000;
/// Of a request, beyond which ZeroMQ ends the connection.
constexpr std::int64_t kFrameBytesMax = 1024;
/// Batches that are sent before replays have a turn.
constexpr int kBatchesPerTurn = 1'000;

/// Wakes a thread that polls sockets: a pipe.
class Wake {
 public:
  /// False: the process has no more files.
  bool open() { return ::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) == 0; }
  Wake() = default;
  ~Wake() {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  void call() const {
    const char byte = 0;
    // Where the pipe is full, the thread will wake all the same.
    [[maybe_unused]] const ssize_t written = ::write(ends_[1], &byte, 1);
  }
  int descriptor() const { return ends_[0]; }
  void clear() const {
    std::array<char, 64> bytes;
    while (::read(ends_[0], bytes.data(), bytes.size()) > 0) {
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

bool is_ipc(std::string_view address) { return address.starts_with("ipc://"); }

zmq::message_t message(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

std::string_view bytes_of(const zmq::message_t& message) {
  return {static_cast<const char*>(message.data()), message.size()};
}

/// What `call` returns, once no signal interrupts it. The frames of a message go and come together,
/// so none may be left out.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    try {
      return call();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }
}

bool send(zmq::socket_t& socket, zmq::message_t& frame, bool has_more) {
  const auto more = has_more ? zmq::send_flags::sndmore : zmq::send_flags::none;
  return uninterrupted([&] { return socket.send(frame, more | zmq::send_flags::dontwait); })
      .has_value();
}

bool send(zmq::socket_t& socket, std::string_view bytes, bool has_more) {
  zmq::message_t frame = message(bytes);
  return send(socket, frame, has_more);
}

/// The frames of the next message, the first few of them; empty if there is none.
std::vector<zmq::message_t> receive(zmq::socket_t& socket) {
  constexpr std::size_t kFramesKept = 4;  // one more than a request has
  std::vector<zmq::message_t> frames;
  for (bool has_more = true; has_more;) {
    zmq::message_t frame;
    if (!uninterrupted([&] { return socket.recv(frame, zmq::recv_flags::dontwait); })) break;
    has_more = frame.more();
    if (frames.size() < kFramesKept) frames.push_back(std::move(frame));
  }
  return frames;
}

/// Returns: where it is. Errors: a sentence that names the endpoint.
tl::expected<std::string, std::string> attach(zmq::socket_t& socket, const Endpoint& endpoint) {
  const auto failed = [&](const std::string& why) {
    return tl::unexpected("cannot " + std::string(endpoint.binds ? "bind" : "connect to") + " '" +
                          endpoint.address + "': " + why);
  };
  if (is_ipc(endpoint.address)) {
    if (const auto may = may_bind_ipc(endpoint.address); !may) return failed(may.error());
  }
  try {
    socket.set(zmq::sockopt::ipv6, endpoint.address.find('[') != endpoint.address.npos);
    if (!endpoint.binds) {
      socket.connect(endpoint.address);
      return endpoint.address;
    }
    socket.bind(endpoint.address);
    return socket.get(zmq::sockopt::last_endpoint);
  } catch (const zmq::error_t& error) {
    return failed(error.what());
  }
}

}  // namespace

/// What the thread has.
struct KvEventPublisher::Sender {
  struct Kept {
    std::uint64_t sequence;
    zmq::message_t bytes;
  };

  explicit Sender(const KvEventOptions& its_options)
      : options(its_options), queue(options.queue_max) {}
  ~Sender() {
    if (thread.joinable()) {
      is_ending = true;
      wake.call();
      thread.join();
    }
    // Before the sockets are closed: nobody else can have bound them.
    if (!endpoint.empty() && is_ipc(options.endpoint)) remove_ipc(options.endpoint);
    if (!replay_endpoint.empty() && is_ipc(options.replay_endpoint)) {
      remove_ipc(options.replay_endpoint);
    }
  }

  /// Errors: why not.
  tl::expected<void, std::string> open();
  void set_up(zmq::socket_t& socket, int messages_max) const;

  void run();
  void wait();
  void send_queued();
  void send_batch(const NumberedBatch& numbered);
  void answer();
  void replay(zmq::message_t& identity, std::uint64_t first);

  const KvEventOptions options;
  BatchQueue queue;
  Wake wake;
  zmq::context_t context{1};
  zmq::socket_t events;
  zmq::socket_t replays;  // closed if there are none
  std::string endpoint;
  std::string replay_endpoint;
  std::deque<Kept> kept;
  std::atomic<std::uint64_t> published = 0;
  std::atomic<std::uint64_t> answered = 0;
  std::atomic<std::uint64_t> bad_requests = 0;
  std::atomic<bool> is_ending = false;
  std::thread thread;  // last: it starts when all the rest is there
};

tl::expected<void, std::string> KvEventPublisher::Sender::open() {
  if (!wake.open()) return tl::unexpected(std::string("no pipe: ") + std::strerror(errno));
  try {
    events = zmq::socket_t(context, zmq::socket_type::pub);
    set_up(events, kMessagesPerFollower);
    auto its_endpoint = attach(events, *parse_endpoint(options.endpoint));
    if (!its_endpoint) return tl::unexpected(std::move(its_endpoint.error()));
    endpoint = *std::move(its_endpoint);
    if (options.replay_endpoint.empty()) return {};

    replays = zmq::socket_t(context, zmq::socket_type::router);
    // ZeroMQ learns that messages were taken when half of this many were: one replay always fits
    // behind others that have been taken.
    set_up(replays, 2 * (static_cast<int>(options.kept_max) + 1));
    replays.set(zmq::sockopt::maxmsgsize, kFrameBytesMax);
    Endpoint parsed = *parse_endpoint(options.replay_endpoint);
    parsed.binds = true;
    its_endpoint = attach(replays, parsed);
    if (!its_endpoint) return tl::unexpected(std::move(its_endpoint.error()));
    replay_endpoint = *std::move(its_endpoint);
  } catch (const zmq::error_t& error) {
    return tl::unexpected(std::string("no ZeroMQ socket: ") + error.what());
  }
  return {};
}

void KvEventPublisher::Sender::set_up(zmq::socket_t& socket, int messages_max) const {
  socket.set(zmq::sockopt::linger, static_cast<int>(options.linger.count()));
  socket.set(zmq::sockopt::sndhwm, messages_max);
}

void KvEventPublisher::Sender::run() {
  for (;;) {
    wait();
    wake.clear();
    const bool ends = is_ending;
    send_queued();
    if (replays) answer();
    if (ends && queue.is_empty()) return;
  }
}

/// Until there is something to do.
void KvEventPublisher::Sender::wait() {
  std::array<zmq::pollitem_t, 2> items{
      zmq::pollitem_t{nullptr, wake.descriptor(), ZMQ_POLLIN, 0},
      zmq::pollitem_t{replays ? replays.handle() : nullptr, -1, ZMQ_POLLIN, 0}};
  const auto limit = std::chrono::milliseconds(queue.is_empty() ? -1 : 0);
  try {
    zmq::poll(items.data(), replays ? 2 : 1, limit);
  } catch (const zmq::error_t&) {  // a signal: there may be nothing to do
  }
}

void KvEventPublisher::Sender::send_queued() {
  for (int i = 0; i < kBatchesPerTurn; ++i) {
    const auto numbered = queue.pop();
    if (!numbered) return;
    send_batch(*numbered);
  }
}

void KvEventPublisher::Sender::send_batch(const NumberedBatch& numbered) {
  zmq::message_t bytes = message(encode(numbered.batch, options.format));
  if (replays) {
    kept.push_back({numbered.sequence, zmq::message_t()});
    kept.back().bytes.copy(bytes);
    if (kept.size() > options.kept_max) kept.pop_front();
  }
  if (send(events, options.topic, true) && send(events, sequence_bytes(numbered.sequence), true) &&
      send(events, bytes, false)) {
    ++published;
  }
}

/// One request, if there is one: batches have their turn between two.
void KvEventPublisher::Sender::answer() {
  std::vector<zmq::message_t> frames = receive(replays);
  if (frames.empty()) return;
  std::vector<std::string_view> parts;
  parts.reserve(frames.size());
  for (const zmq::message_t& frame : frames) parts.push_back(bytes_of(frame));
  const auto first = parse_replay_request(parts);
  if (!first) {
    ++bad_requests;
    return;
  }
  ++answered;  // before the answer: whoever has got it finds it counted
  replay(frames.front(), *first);
}

void KvEventPublisher::Sender::replay(zmq::message_t& identity, std::uint64_t first) {
  const auto answer_with = [&](std::string_view sequence, zmq::message_t& bytes) {
    zmq::message_t to;
    to.copy(identity);
    return send(replays, to, true) && send(replays, std::string_view(), true) &&
           send(replays, sequence, true) && send(replays, bytes, false);
  };
  for (Kept& batch : kept) {
    if (batch.sequence < first) continue;
    zmq::message_t bytes;
    bytes.copy(batch.bytes);
    if (!answer_with(sequence_bytes(batch.sequence), bytes)) return;
  }
  zmq::message_t nothing;
  answer_with(std::string(8, '\xff'), nothing);
}

KvEventPublisher::Opened KvEventPublisher::open(const KvEventOptions& options) {
  if (auto valid = validate(options); !valid) return tl::unexpected(std::move(valid.error()));
  auto sender = std::make_unique<Sender>(options);
  if (auto opened = sender->open(); !opened) return tl::unexpected(std::move(opened.error()));
  return std::unique_ptr<KvEventPublisher>(new KvEventPublisher(std::move(sender)));
}

KvEventPublisher::KvEventPublisher(std::unique_ptr<Sender> sender) : sender_(std::move(sender)) {
  sender_->thread = std::thread([sender = sender_.get()] { sender->run(); });
}

KvEventPublisher::~KvEventPublisher() = default;

bool KvEventPublisher::publish(KvEventBatch batch) {
  const BatchQueue::Pushed pushed = sender_->queue.push(std::move(batch));
  if (pushed == BatchQueue::Pushed::onto_none) sender_->wake.call();
  return pushed != BatchQueue::Pushed::dropped;
}

KvEventCounts KvEventPublisher::counts() const {
  return {.published = sender_->published,
          .dropped = sender_->queue.dropped(),
          .replays = sender_->answered,
          .bad_requests = sender_->bad_requests};
}

const std::string& KvEventPublisher::endpoint() const { return sender_->endpoint; }
const std::string& KvEventPublisher::replay_endpoint() const { return sender_->replay_endpoint; }

}  // namespace forge::kv_events
