// forge-infer: serves a model over HTTP until it is told to stop.
//
// SIGTERM, SIGINT and SIGHUP let it answer what it has begun, for at most --shutdown-timeout-s; a
// second SIGTERM or SIGINT ends it at once. With --api-key-file or --tls-cert SIGHUP has the keys
// and the certificate read again.
//
// What it writes to may go away while it serves: the reader of its log, the room on the disk of its
// trace. Nobody's answer depends on them, so it goes on.
//
// Exit status: 0 after a signal; 1 if the target cannot be opened, it cannot listen, the keys or
// the certificate cannot be read or the trace cannot be written, at the start or before the end;
// 2 for bad flags; 128 + signal after a second signal.
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

#include "credentials.h"
#include "descriptors.h"
#include "forge/chat/chat_format.h"
#include "forge/engine/engine_loop.h"
#include "forge/runtime/open.h"
#include "forge/serve/http_server.h"
#include "infer_options.h"
#include "library_report.h"
#include "program_output.h"

namespace forge::apps {
namespace {

int fail(const std::string& message) {
  std::cerr << "forge-infer: " + message + '\n';
  return 1;
}

/// What the target took, and on a CPU the weights, which the model had packed before.
std::vector<serve::ServedMemory> served_memory(Runtime& runtime) {
  runtime::MemoryPlan plan = runtime.target().memory();
  if (!is_gpu(runtime.options().kind)) plan.host.weights = runtime.model().weights().bytes();
  std::vector<serve::ServedMemory> parts;
  const auto add = [&parts](std::string_view memory, const runtime::MemoryUse& use) {
    parts.insert(parts.end(), {{memory, "weights", use.weights},
                               {memory, "scratch", use.scratch},
                               {memory, "kv", use.kv}});
  };
  add("host", plan.host);
  if (plan.device) add("device", *plan.device);
  return parts;
}

serve::ModelCard model_card(Runtime& runtime) {
  const CacheShape& cache = runtime.options().scheduler.cache;
  const executor::ExecutorOptions& executor = runtime.options().executor;
  const std::uint64_t slots = std::uint64_t{cache.num_blocks} * cache.block_size;
  const chat::LoadedChatFormat& format = runtime.model().chat();
  serve::ServedChatFormat chat;  // an error is a matter of those who ask for chat
  if (format) {
    chat = std::make_shared<const chat::ChatFormat>(*format);
  } else {
    chat = tl::unexpected(to_string(format.error()));
  }
  return {.id = runtime.model().name(),
          .vocabulary_size = static_cast<std::uint32_t>(runtime.config().vocabulary_size),
          .context_tokens = std::min(slots, static_cast<std::uint64_t>(runtime.config().positions)),
          .created = static_cast<std::int64_t>(std::time(nullptr)),
          .chat = std::move(chat),
          .grammars = runtime.target().grammars(),
          .answer_stop = runtime.model().answer_stop(),
          .draft_source = executor.drafts > 0 ? name_of(executor.draft_source) : "",
          .kv_type = name_of(executor.kv_type),
          .memory = served_memory(runtime)};
}

void print_welcome(const serve::Address& address, const std::string& model_id,
                   const InferOptions& options) {
  const std::string scheme = options.tls_cert.empty() ? "http://" : "https://";
  const std::string url = scheme + (address.is_unix() ? "localhost" : to_string(address));
  const bool knows_words = model_id == runtime::kBuiltinModel;
  const bool needs_key = !options.api_key_file.empty();
  std::cout << "listening on " << (address.is_unix() ? to_string(address) : url) << "\n\n"
            << "curl " << (address.is_unix() ? "--unix-socket '" + address.path + "' " : "") << "'"
            << url << "/v1/completions' -H 'Content-Type: application/json' \\\n"
            << (needs_key ? "  -H 'Authorization: Bearer KEY' \\\n" : "") << "  -d '{\"model\": \""
            << model_id << "\", \"prompt\": \""
            << (knows_words ? "What is a slice?" : "Once upon a time")
            << "\", \"temperature\": 0, \"max_tokens\": 64}'\n"
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
void await_signals(boost::asio::signal_set& signals, boost::asio::signal_set& hangups,
                   serve::HttpServer& server) {
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    std::cerr << "forge-infer: answering what is in flight; a second signal ends at once\n";
    server.shutdown([&] {
      signals.cancel();
      hangups.cancel();
    });
    await_second_signal(signals);
  });
}

/// What was assumed of a file, or is there and not used.
void print_notes(const runtime::LoadedModel& model) {
  for (const std::string& note : model.notes()) std::cerr << model.name() << ": " << note << '\n';
  if (model.draft() != nullptr) print_notes(*model.draft());
}

/// The memory that a GPU target took, and the library that it uses.
void print_device(const runtime::Target& target) {
  const runtime::MemoryPlan& plan = target.memory();
  if (plan.device) {
    std::cerr << "memory of " << target.device_name() << ": " << to_string(*plan.device) << '\n';
  }
  std::cerr << "memory of this machine: " << to_string(plan.host) << '\n';
  print_library(target.library(), std::cerr);
}

/// Says what was read from a file.
void print_model(Runtime& runtime) {
  const runtime::LoadedModel& model = runtime.model();
  const CacheShape& cache = runtime.options().scheduler.cache;
  std::cerr << model.name() << ": " << runtime::bytes_text(model.weights().bytes())
            << " of weights, KV cache of " << std::uint64_t{cache.num_blocks} * cache.block_size
            << " tokens, " << model.threads().threads() << " threads"
            << (model.has_tokenizer() ? "" : ", no tokenizer: a token is a byte") << '\n';
  if (is_gpu(runtime.options().kind)) print_device(runtime.target());
  print_notes(model);
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

/// Returns: an empty text, or what is wrong.
std::string report_profile(const NamedProfile& profile, const ProfileOptions& options) {
  if (!options.on) return {};
  print_profile(profile, std::cerr);
  return save_timeline({&profile, 1}, options.timeline_file);
}

int serve(InferOptions options) {
  auto credentials = read_credentials(options);
  if (!credentials) return fail(credentials.error());
  if (const auto fits = fit_connections(options.http); !fits) return fail(fits.error());
  options.target.executor.digest_logits = options.exposes_text;
  NamedProfile profile{"all passes", model::PassProfile()};
  if (options.profile.on) options.target.profile = &profile.profile;
  auto opened = Runtime::open(std::move(options.target));
  if (!opened) return fail(opened.error());
  Runtime& runtime = *opened;
  if (options.profile.on) {
    profile.profile.set_limits(linear::measure_limits(runtime.model().threads()));
  }
  if (runtime.options().source.is_file()) print_model(runtime);
  const auto trace_file = create_trace("forge-infer", options.trace_file);
  if (!trace_file) return fail(trace_file.error());
  const auto tokens =
      options.exposes_text ? trace::TraceTokens::exposed : trace::TraceTokens::veiled;
  trace::TraceWriter* const trace = *trace_file ? &runtime.record(**trace_file, tokens) : nullptr;
  options.http.on_connection_error = [](std::string_view what) {
    std::cerr << "forge-infer: a connection was closed: " << what << '\n';
  };

  options.loop.on_draft_alarm = [](const std::optional<std::string>& alarm) {
    std::cerr << "forge-infer: drafts: " << alarm.value_or("as many are kept as expected again")
              << '\n';
  };

  boost::asio::io_context io;
  const serve::ModelCard card = model_card(runtime);
  auto loop =
      std::make_unique<engine::EngineLoop>(runtime.engine(), runtime.tokenizer(), options.loop);
  serve::HttpServer server(io, *loop, card, options.http);
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  boost::asio::signal_set hangups(io);
  give(*std::move(credentials), server);
  if (has_credentials(options)) {
    hangups.add(SIGHUP);
    read_credentials_on(hangups, options, server);
  } else if (!is_ignored(SIGHUP)) {
    signals.add(SIGHUP);
  }
  await_signals(signals, hangups, server);
  const auto address = server.listen(serve::parse_address(options.addr).value());
  if (!address) return fail(address.error());
  if (trace != nullptr && !trace->flush())
    return 1;  // not before: who cannot listen leaves no trace
  print_welcome(*address, card.id, options);
  io.run();

  loop->drain();
  loop.reset();
  if (const std::string lost = report_profile(profile, options.profile); !lost.empty())
    return fail(lost);
  if (trace == nullptr || trace->flush()) return 0;
  return fail("--trace: '" + options.trace_file + "' has only the first " +
              std::to_string(trace->steps_flushed()) + " steps");
}

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  forge::apps::ignore_write_signals();
  CLI::App app("Serves the built-in model, or one from a file, to clients of OpenAI's API.",
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
