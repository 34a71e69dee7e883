// The part of Connection that answers while it reads: POST /forge/v1/batch.
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <exception>
#include <utility>

#include "batch.h"
#include "connection.h"

namespace forge::serve {

using namespace asio::experimental::awaitable_operators;

namespace {

/// A body that is taken away as it comes.
struct PassingBody {
  using value_type = std::string;

  class reader {  // NOLINT(readability-identifier-naming): what Beast calls it
   public:
    template <bool kIsRequest, class Fields>
    reader(http::header<kIsRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, boost::beast::error_code& error) {
      error = {};
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      for (const asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
      }
      return asio::buffer_size(buffers);
    }
    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

BodyPart refused(ApiError error) {
  return {.kind = BodyPart::Kind::refused, .refusal = std::move(error)};
}

BodyPart at_its_end() { return {.kind = BodyPart::Kind::end}; }

/// Ends with the coroutine, for whatever reason.
class CancelledAtTheEnd {
 public:
  explicit CancelledAtTheEnd(Batch& batch) : batch_(batch) {}
  ~CancelledAtTheEnd() { batch_.cancel(); }
  CancelledAtTheEnd(const CancelledAtTheEnd&) = delete;
  CancelledAtTheEnd& operator=(const CancelledAtTheEnd&) = delete;

 private:
  Batch& batch_;
};

}  // namespace

/// A batch on its connection.
struct Connection::Lines {
  Lines(Parser&& header, Framing its_framing)
      : parser(std::move(header)), framing(std::move(its_framing)) {
    parser.eager(true);
  }

  http::request_parser<PassingBody> parser;
  Framing framing;
  boost::beast::error_code error;  // of the parser; told when all before it has been taken
  bool has_header = false;         // the answer
};

asio::awaitable<BodyPart> Connection::read_part(Lines& lines) {
  while (!lines.parser.is_done()) {
    boost::beast::error_code& error = lines.error;
    if (!error) buffer_.consume(lines.parser.put(buffer_.data(), error));
    if (error == http::error::need_more) error = {};
    BodyPart part{.kind = BodyPart::Kind::bytes,
                  .bytes = std::exchange(lines.parser.get().body(), {})};
    if (!part.bytes.empty()) co_return part;
    if (error) co_return refused(syntax_error(error, lines.parser.get()));
    if (lines.parser.is_done()) break;
    if (buffer_.size() > state_->options.header_limit_bytes) co_return refused(large_gap());
    const Received received = co_await receive(TimePoint::max());
    if (received != Received::data) co_return BodyPart();
  }
  co_return at_its_end();
}

asio::awaitable<bool> Connection::write_lines(Lines& lines, std::string text) {
  std::string bytes;
  if (!std::exchange(lines.has_header, true)) {
    lines.framing.keep_alive = keeps_alive(lines.framing);
    tell_limits(lines.framing);
    note_answer(200, lines.framing);
    bytes = stream_header(lines.framing, kJsonLines);
  }
  if (!text.empty()) bytes += stream_part(text, lines.framing);
  if (bytes.empty()) co_return true;
  co_return co_await write(bytes);
}

asio::awaitable<bool> Connection::answer_lines(Parser& parser) {
  Framing framing = frame(parser.get(), parser.keep_alive());
  record_->request_id = framing.request_id;
  answer_begun_ = false;
  Answer what = route(parser.get(), "", client_, *state_);
  if (const auto* refused = std::get_if<Reply>(&what)) {
    framing.keep_alive = false;  // what the body says is not read
    co_return co_await send(*refused, framing);
  }
  const auto lines = std::make_shared<Lines>(std::move(parser), framing);
  const auto self = shared_from_this();
  const auto batch = std::make_shared<Batch>(
      state_, client_, *record_,
      Batch::Wire{
          .read = [self, lines] { return self->read_part(*lines); },
          .write = [self,
                    lines](std::string text) { return self->write_lines(*lines, std::move(text)); },
          .drop = [self] { self->drop(); }});
  const CancelledAtTheEnd cancelled(*batch);
  co_return co_await answer_batch(*batch, *lines);
}

asio::awaitable<bool> Connection::answer_batch(Batch& batch, Lines& lines) {
  Batch::Reading reading = Batch::Reading::gone;
  const auto read = [&]() -> asio::awaitable<void> { reading = co_await batch.read_lines(); };
  const bool has_read = co_await unless_gone(read(), stream_.wait_for_error());
  if (!has_read || reading == Batch::Reading::gone) {
    drop();
    co_return false;
  }
  const bool is_whole = reading == Batch::Reading::ended;
  if (batch.refusal()) {
    lines.framing.keep_alive = lines.framing.keep_alive && is_whole;
    co_return co_await send(reply_of(*batch.refusal()), lines.framing);
  }
  auto gone = is_whole ? watch_for_disconnect(lines.framing) : stream_.wait_for_error();
  const bool has_finished = co_await unless_gone(batch.finish(), std::move(gone));
  if (!has_finished) {
    drop();
    co_return false;
  }
  const std::string end = stream_end(lines.framing);
  bool written = true;
  if (!end.empty()) written = co_await write(end);
  const bool goes_on = written && is_whole && keeps_alive(lines.framing) && !lines.framing.http_1_0;
  co_return goes_on;
}

/// Of two that run side by side an exception of one does not end the other: it is handed on here.
asio::awaitable<bool> Connection::unless_gone(asio::awaitable<void> work,
                                              asio::awaitable<void> gone) {
  std::exception_ptr failure;
  const auto watched = [&]() -> asio::awaitable<void> {
    try {
      co_await std::move(work);
    } catch (...) {
      failure = std::current_exception();
    }
  };
  const auto first = co_await (watched() || std::move(gone));
  if (first.index() == 1) co_return false;
  if (failure) std::rethrow_exception(failure);
  co_return true;
}

}  // namespace forge::serve
