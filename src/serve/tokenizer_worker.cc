#include "tokenizer_worker.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "forge/chat/chat_template.h"
#include "tokenizer_api.h"

namespace forge::serve {

namespace asio = boost::asio;

namespace {

/// A request that waits to be tokenized, until a worker or the end of its coroutine takes it out.
class Waiting {
 public:
  explicit Waiting(UntokenizedRequest request) : request_(std::move(request)) {}

  std::optional<UntokenizedRequest> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(request_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<UntokenizedRequest> request_;
};

/// Ends with the coroutine, for whatever reason.
class TakenBack {
 public:
  explicit TakenBack(Waiting& waiting) : waiting_(waiting) {}
  ~TakenBack() { waiting_.take(); }
  TakenBack(const TakenBack&) = delete;
  TakenBack& operator=(const TakenBack&) = delete;

 private:
  Waiting& waiting_;
};

/// What the coroutine waits for, on the I/O thread.
template <class Result>
struct Reception {
  explicit Reception(const asio::any_io_executor& io)
      : arrived(io, asio::steady_timer::time_point::max()) {}

  asio::steady_timer arrived;  // never expires; cancelled when the result is there
  std::optional<tl::expected<Result, ApiError>> result;
};

/// Of all texts within.
std::size_t text_bytes(const nlohmann::ordered_json& json) {
  if (json.is_string()) return json.get_ref<const std::string&>().size();
  std::size_t bytes = 0;
  if (!json.is_structured()) return bytes;
  for (const auto& element : json) bytes += text_bytes(element);
  return bytes;
}

std::size_t text_bytes(const UntokenizedRequest& request) {
  std::size_t bytes = 0;
  for (const UntokenizedPrompt& prompt : request.prompts) {
    if (const auto* text = std::get_if<std::string>(&prompt.content)) bytes += text->size();
    if (const auto* chat =
            std::get_if<std::shared_ptr<const chat::Conversation>>(&prompt.content)) {
      bytes += text_bytes((*chat)->messages);
    }
    if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt.content)) bytes += ids->size();
  }
  return bytes;
}

/// On a worker's thread: nobody else could catch.
template <class Run>
auto run_and_catch(const Run& run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::exception& error) {
    return tl::unexpected(server_error(
        500, std::string("the prompt could not be tokenized: ") + error.what(), "tokenize_failed"));
  }
}

}  // namespace

template <class Result>
asio::awaitable<tl::expected<Result, ApiError>> TokenizerWorker::run(UntokenizedRequest request,
                                                                     asio::thread_pool& threads,
                                                                     Work<Result> work) {
  const asio::any_io_executor io = co_await asio::this_coro::executor;
  const auto waiting = std::make_shared<Waiting>(std::move(request));
  const auto reception = std::make_shared<Reception<Result>>(io);
  asio::post(threads, [this, io, work, waiting, reception] {
    auto taken = waiting->take();
    if (!taken) return;
    auto result = run_and_catch(
        [&] { return work(std::move(*taken), model_, tokenizer_, chat::local_time()); });
    asio::post(io, [reception, result = std::move(result)]() mutable {
      reception->result = std::move(result);
      reception->arrived.cancel();
    });
  });
  const TakenBack at_the_end(*waiting);
  while (!reception->result) {
    co_await reception->arrived.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return std::move(*reception->result);
}

asio::thread_pool& TokenizerWorker::threads_for(const UntokenizedRequest& request, From from) {
  if (request.sampling.grammar) return grammars_;
  if (from == From::batch) return batches_;
  return text_bytes(request) <= kShortBytes ? short_texts_ : long_texts_;
}

asio::awaitable<tl::expected<CompletionRequest, ApiError>> TokenizerWorker::tokenize(
    UntokenizedRequest request, From from) {
  asio::thread_pool& threads = threads_for(request, from);
  return run<CompletionRequest>(std::move(request), threads, serve::tokenize);
}

asio::awaitable<tl::expected<std::string, ApiError>> TokenizerWorker::answer(
    UntokenizedRequest request) {
  asio::thread_pool& threads = threads_for(request, From::client);
  return run<std::string>(std::move(request), threads, tokenizer_answer);
}

}  // namespace forge::serve
