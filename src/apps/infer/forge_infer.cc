// forge-infer: serves a model over HTTP until it is told to stop.
//
// SIGTERM, SIGINT and SIGHUP let it answer what it has begun, for at most --shutdown-timeout-s; a
// second SIGTERM or SIGINT ends it at once.
//
// What it writes to may go away while it serves: the reader of its log, the room on the disk of its
// trace. Nobody's answer depends on them, so it goes on.
//
// Exit status: 0 after a signal; 1 if the target cannot be opened, it cannot listen or the trace
// cannot be written, at the start or before the end; 2 for bad flags; 128 + signal after a second
// signal.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <new>
#include <optional>

#include "descriptors.h"
#include "forge/engine/engine_loop.h"
#include "forge/serve/http_server.h"
#include "forge/text/byte_tokeniser.h"
#include "forge/trace/trace_header.h"
#include "forge/trace/trace_writer.h"
#include "infer_options.h"
#include "program_output.h"
#include "target.h"
#include "target_header.h"

namespace forge::apps {
namespace {

int fail(const std::string& message) {
  std::cerr << "forge-infer: " + message + '\n';
  return 1;
}

serve::ModelCard model_card(const TargetOptions& target, const LoadedModel& model) {
  const std::uint64_t cache =
      std::uint64_t{target.scheduler.num_blocks} * target.scheduler.block_size;
  return {.id = model.name(),
          .vocabulary_size = static_cast<std::uint32_t>(model.config().vocabulary_size),
          .context_tokens = std::min(cache, static_cast<std::uint64_t>(model.config().positions)),
          .created = static_cast<std::int64_t>(std::time(nullptr))};
}

void print_welcome(const serve::Address& address, const std::string& model_id) {
  const std::string url = "http://" + to_string(address);
  std::cout << "listening on " << url << "\n\n"
            << "curl '" << url << "/v1/completions' -H 'Content-Type: application/json' \\\n"
            << "  -d '{\"model\": \"" << model_id
            << "\", \"prompt\": \"Once upon a time\", \"max_tokens\": 32}'\n"
            << std::flush;
}

/// By the one who started this program: nohup(1) wants it to outlive the terminal.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// The second signal ends the program, but for SIGHUP: a terminal that is closed may send it twice.
void await_second_signal(boost::asio::signal_set& signals) {
  signals.async_wait([&signals](const boost::system::error_code& cancelled, int signal) {
    if (cancelled) return;
    if (signal != SIGHUP) std::_Exit(128 + signal);
    await_second_signal(signals);
  });
}

/// The first signal shuts the server down.
void await_signals(boost::asio::signal_set& signals, serve::HttpServer& server) {
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    std::cerr << "forge-infer: answering what is in flight; a second signal ends at once\n";
    server.shutdown([&signals] { signals.cancel(); });
    await_second_signal(signals);
  });
}

/// Opens the model and sizes the cache for it; says so of a file.
tl::expected<std::unique_ptr<LoadedModel>, std::string> open_model(InferOptions& options) {
  auto model = LoadedModel::open(options.target.source);
  if (!model) return model;
  const auto fits = configure(options.target, **model, options.blocks_given);
  if (!fits) return tl::unexpected(fits.error());
  if (!options.target.source.is_file()) return model;
  const SchedulerConfig& scheduler = options.target.scheduler;
  std::cerr << (*model)->name() << ": " << bytes_text((*model)->transformer().weights().bytes())
            << " of weights, KV cache of "
            << std::uint64_t{scheduler.num_blocks} * scheduler.block_size << " tokens, "
            << (*model)->threads().threads() << " threads"
            << ((*model)->has_tokeniser() ? "" : ", no tokeniser: a token is a byte") << '\n';
  return model;
}

/// As many connections as the system allows; says so where they are fewer.
tl::expected<void, std::string> fit_connections(serve::HttpOptions& http) {
  const auto fit = allow_connections(http.max_connections);
  if (!fit) return tl::unexpected(fit.error());
  if (*fit < http.max_connections) {
    std::cerr << "forge-infer: --max-connections is " << *fit << " instead of "
              << http.max_connections << ": this process may not open more files (ulimit -n)\n";
  }
  http.max_connections = *fit;
  return {};
}

int serve(InferOptions options) {
  if (const auto fits = fit_connections(options.http); !fits) return fail(fits.error());
  options.target.executor.digest_logits = !options.trace_file.empty();
  const auto opened = open_model(options);
  if (!opened) return fail(opened.error());
  const LoadedModel& model = **opened;
  auto target = Target::open(options.target, model);
  if (!target) return fail(target.error());
  const auto trace_file = create_trace("forge-infer", options.trace_file);
  if (!trace_file) return fail(trace_file.error());
  std::optional<trace::TraceWriter> trace;
  if (*trace_file) {
    trace.emplace(**trace_file,
                  to_trace_header(options.target, record_of(model, options.target.kind),
                                  target->device_name()));
  }
  options.http.on_connection_error = [](std::string_view what) {
    std::cerr << "forge-infer: a connection was closed: " << what << '\n';
  };

  boost::asio::io_context io;
  const serve::ModelCard card = model_card(options.target, model);
  engine::Engine engine(options.target.scheduler, target->executor(), trace ? &*trace : nullptr);
  auto loop = std::make_unique<engine::EngineLoop>(engine, model.tokeniser(), options.loop);
  serve::HttpServer server(io, *loop, card, options.http);
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  if (!is_ignored(SIGHUP)) signals.add(SIGHUP);
  await_signals(signals, server);
  const auto address = server.listen(serve::parse_address(options.addr).value());
  if (!address) return fail(address.error());
  if (trace && !trace->flush()) return 1;  // not before: who cannot listen leaves no trace
  print_welcome(*address, card.id);
  io.run();

  loop->drain();
  loop.reset();
  if (!trace || trace->flush()) return 0;
  return fail("--trace: '" + options.trace_file + "' has only the first " +
              std::to_string(trace->steps_flushed()) + " steps");
}

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  forge::apps::ignore_write_signals();
  CLI::App app(
      "Serves the built-in model, or one from a file, to clients of OpenAI's completions API.",
      "forge-infer");
  forge::apps::InferOptions options;
  forge::apps::add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::string fault = forge::apps::finish_options(app, options);
  if (!fault.empty()) {
    forge::apps::fail(fault);
    return 2;
  }
  try {
    return forge::apps::serve(std::move(options));
  } catch (const std::bad_alloc&) {
    return forge::apps::fail(
        "the memory that this process may use is not enough (--kv-memory, ulimit -v)");
  }
}
