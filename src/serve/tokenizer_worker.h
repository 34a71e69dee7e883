// TokenizerWorker: turns the texts of requests into tokens, tokens into texts, and compiles the
// grammars of requests, off the I/O thread, which serves everybody: a megabyte can take half a
// second.
//
//   I/O thread --+--request--> short texts: a thread --+--tokens--> the coroutine that waits
//                |                                     |
//                +--request--> long texts: a thread ---+
//                |                                     |
//                +--request--> grammars: a thread -----+
//                |                                     |
//                +--request--> batches: some threads --+
//
// Short texts never wait behind long ones, nor behind a grammar that takes its time to compile, nor
// behind the lines of a batch: requests of up to kShortBytes of text have a thread of their own,
// and so have those with a grammar. Each thread takes requests in the order of their arrival.
//
// When the coroutine that waits is ended, because its client has gone, its text is freed, and no
// work is done for it unless that has begun. So no more wait here than connections hold.
//
// Owns the threads. Borrows the model and the tokenizer; the io_context of those who wait outlives
// it. Its destructor waits for what has begun and drops what has not. Thread contract: the I/O
// thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <ctime>
#include <string>
#include <tl/expected.hpp>

#include "forge/serve/openai_api.h"

namespace forge::serve {

class TokenizerWorker {
 public:
  static constexpr std::size_t kShortBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kBatchThreads = 4;

  enum class From { client, batch };

  TokenizerWorker(const ModelCard& model, const text::Tokenizer& tokenizer)
      : model_(model), tokenizer_(tokenizer) {}

  /// Errors: those of forge::tokenize, or 500 if it ends with an exception.
  boost::asio::awaitable<tl::expected<CompletionRequest, ApiError>> tokenize(
      UntokenizedRequest request, From from = From::client);

  /// The body of the answer to a request that is_of_tokenizer(). Errors: those of
  /// tokenizer_answer(), or 500 if it ends with an exception.
  boost::asio::awaitable<tl::expected<std::string, ApiError>> answer(UntokenizedRequest request);

 private:
  template <class Result>
  using Work = tl::expected<Result, ApiError> (*)(UntokenizedRequest, const ModelCard&,
                                                  const text::Tokenizer&, const std::tm&);
  template <class Result>
  boost::asio::awaitable<tl::expected<Result, ApiError>> run(UntokenizedRequest request,
                                                             boost::asio::thread_pool& threads,
                                                             Work<Result> work);
  boost::asio::thread_pool& threads_for(const UntokenizedRequest& request, From from);

  const ModelCard& model_;
  const text::Tokenizer& tokenizer_;
  boost::asio::thread_pool short_texts_{1};
  boost::asio::thread_pool long_texts_{1};
  boost::asio::thread_pool grammars_{1};
  boost::asio::thread_pool batches_{kBatchThreads};
};

}  // namespace forge::serve
