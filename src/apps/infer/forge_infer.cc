// forge-infer: serves a model over HTTP until it is told to stop.
//
// SIGTERM and SIGINT let it answer what it has begun; a second signal ends it at once.
//
// Exit status: 0 after a signal; 1 if the target cannot be opened, it cannot listen or the trace
// cannot be written; 2 for bad flags; 128 + signal after a second signal.
#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>

#include "forge/engine/engine_loop.h"
#include "forge/serve/http_server.h"
#include "forge/text/byte_tokeniser.h"
#include "forge/trace/trace_writer.h"
#include "target.h"
#include "target_flags.h"

namespace forge {
namespace {

constexpr const char* kModelId = "forge-tiny";

struct InferOptions {
  TargetOptions target;
  std::string addr = "127.0.0.1:8080";
  EngineLoop::Options loop;
  HttpOptions http;
  double read_timeout_s = 30;
  double request_timeout_s = 0;
  std::string trace_file;
  bool blocks_given = false;  ///< --num-blocks was
};

void add_options(CLI::App& app, InferOptions& options) {
  const char* group = "Server";
  app.add_option("--addr", options.addr, "HOST:PORT or [IPV6]:PORT; port 0 picks a free one")
      ->envname("FORGE_ADDR")
      ->capture_default_str()
      ->check([](const std::string& text) {
        const auto address = parse_address(text);
        return address ? std::string() : address.error();
      })
      ->group(group);
  app.add_option("--queue-limit", options.loop.queue_limit,
                 "Requests that may wait for a place in the batch; further ones get 503")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->group(group);
  app.add_option("--body-limit", options.http.body_limit_bytes,
                 "Bytes of a request's body; larger ones get 413")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30))
      ->group(group);
  app.add_option("--read-timeout-s", options.read_timeout_s,
                 "Seconds in which a request must have arrived; slower ones get 408")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0))
      ->group(group);
  app.add_option("--request-timeout-s", options.request_timeout_s,
                 "Seconds after which a request ends with the text so far and the finish_reason "
                 "\"deadline\"; a request may ask for less (timeout_s); 0 is no limit")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 86400.0))
      ->group(group);
  app.add_option("--health-stall-steps", options.http.health_stall_steps,
                 "/healthz fails when work waits and so many steps in a row fail")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30))
      ->group(group);
  app.add_option("--trace", options.trace_file,
                 "Record the run as JSON lines, with the digests of all logits")
      ->group(group);
  constexpr std::array kKinds{TargetKind::cpu, TargetKind::sim, TargetKind::cuda};
  add_target_choice(app, options.target.kind,
                    "Where the model runs: on the cpu, on a simulated GPU (sim) or on a GPU (cuda)",
                    kKinds);
  add_target_options(app, options.target);
  add_model_file_options(app, options.target.source);
  add_device_options(app, options.target.device);
}

/// Strangers send prompts here: without a key that they know, they cannot prepare collisions. The
/// trace says which one it was.
void draw_hash_key(const CLI::App& app, SchedulerConfig& scheduler) {
  if (app.count("--prefix-hash-key") > 0) return;
  std::random_device random;
  scheduler.prefix_hash_key = std::uint64_t{random()} << 32 | random();
}

int fail(const std::string& message) {
  std::cerr << "forge-infer: " << message << '\n';
  return 1;
}

ModelCard model_card(const TargetOptions& target, const ModelFile* model) {
  const std::uint64_t cache =
      std::uint64_t{target.scheduler.num_blocks} * target.scheduler.block_size;
  ModelCard card{
      .id = kModelId,
      .vocabulary_size = static_cast<std::uint32_t>(target.executor.model.vocabulary_size),
      .context_tokens = cache,
      .created = static_cast<std::int64_t>(std::time(nullptr))};
  if (model == nullptr) return card;
  card.id = model->name();
  card.vocabulary_size = static_cast<std::uint32_t>(model->config().vocabulary_size);
  card.context_tokens = std::min(cache, static_cast<std::uint64_t>(model->config().positions));
  return card;
}

void print_welcome(const Address& address, const std::string& model_id) {
  const std::string url = "http://" + to_string(address);
  std::cout << "listening on " << url << "\n\n"
            << "curl '" << url << "/v1/completions' -H 'Content-Type: application/json' \\\n"
            << "  -d '{\"model\": \"" << model_id
            << "\", \"prompt\": \"Once upon a time\", \"max_tokens\": 32}'\n"
            << std::flush;
}

/// The first signal shuts the server down, the second ends the program.
void await_signals(boost::asio::signal_set& signals, HttpServer& server) {
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    std::cerr << "forge-infer: answering what is in flight; a second signal ends at once\n";
    server.shutdown([&signals] { signals.cancel(); });
    signals.async_wait([](const boost::system::error_code& cancelled, int signal) {
      if (!cancelled) std::_Exit(128 + signal);
    });
  });
}

/// At least one.
std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

/// Opens the model and sizes the cache for it, and says so.
tl::expected<std::unique_ptr<ModelFile>, std::string> open_model(InferOptions& options) {
  auto model = ModelFile::open(options.target.source);
  if (!model) return model;
  const auto fits = configure(options.target, **model, options.blocks_given);
  if (!fits) return tl::unexpected(fits.error());
  const SchedulerConfig& scheduler = options.target.scheduler;
  std::cerr << (*model)->name() << ": " << bytes_text((*model)->transformer().weights().bytes())
            << " of weights, KV cache of "
            << std::uint64_t{scheduler.num_blocks} * scheduler.block_size << " tokens, "
            << (*model)->threads().threads() << " threads"
            << ((*model)->has_tokeniser() ? "" : ", no tokeniser: a token is a byte") << '\n';
  return model;
}

int serve(InferOptions options) {
  options.target.executor.digest_logits = !options.trace_file.empty();
  std::unique_ptr<ModelFile> model;
  if (options.target.source.given()) {
    auto opened = open_model(options);
    if (!opened) return fail(opened.error());
    model = *std::move(opened);
  }
  auto target = Target::open(options.target, model.get());
  if (!target) return fail(target.error());
  std::ofstream trace_out;
  std::optional<TraceWriter> trace;
  if (!options.trace_file.empty()) {
    trace_out.open(options.trace_file, std::ios::binary);
    if (!trace_out) return fail("--trace: cannot write '" + options.trace_file + "'");
    trace.emplace(trace_out, to_trace_header(options.target, target->device_name()));
  }
  options.http.read_timeout = milliseconds(options.read_timeout_s);
  if (options.request_timeout_s > 0) {
    options.http.request_timeout = milliseconds(options.request_timeout_s);
  }

  boost::asio::io_context io;
  const ByteTokeniser bytes;
  const Tokeniser& tokeniser = model ? model->tokeniser() : bytes;
  const ModelCard card = model_card(options.target, model.get());
  Engine engine(options.target.scheduler, target->executor(), trace ? &*trace : nullptr);
  auto loop = std::make_unique<EngineLoop>(engine, tokeniser, options.loop);
  HttpServer server(io, *loop, card, options.http);
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  await_signals(signals, server);
  const auto address = server.listen(parse_address(options.addr).value());
  if (!address) return fail(address.error());
  print_welcome(*address, card.id);
  io.run();

  loop->drain();
  loop.reset();
  if (trace && !trace->flush()) return fail("--trace: cannot write '" + options.trace_file + "'");
  return 0;
}

}  // namespace
}  // namespace forge

int main(int argc, char** argv) {
  CLI::App app(
      "Serves a model over HTTP, to any OpenAI client: the reference model, or one from a file.",
      "forge-infer");
  forge::InferOptions options;
  forge::add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::string misplaced = forge::misplaced_flag(app, options.target.kind);
  if (!misplaced.empty()) {
    forge::fail(misplaced);
    return 2;
  }
  options.blocks_given = app.count("--num-blocks") > 0;
  forge::draw_hash_key(app, options.target.scheduler);
  return forge::serve(std::move(options));
}
