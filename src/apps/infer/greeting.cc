#include "greeting.h"

#include <cstdint>
#include <iostream>

#include "library_report.h"

namespace forge::apps {
namespace {

/// What a client asks: over a Unix socket, too, the URL has a host.
std::string url_of(const serve::Address& address, const InferOptions& options) {
  const std::string scheme = options.tls_cert.empty() ? "http://" : "https://";
  return scheme + (address.is_unix() ? "localhost" : to_string(address));
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

/// ", 2 requests at a time for a client": what is limited, and nothing where nothing is.
std::string limits_text(const InferOptions& options) {
  const serve::ClientLimits& limits = options.http.client_limits;
  std::string text;
  const auto add = [&](std::uint64_t limit, const std::string& what) {
    if (limit > 0) text += ", " + std::to_string(limit) + what;
  };
  add(limits.concurrent, " requests at a time for a client");
  add(limits.waiting, " waiting for a client");
  add(limits.tokens_per_minute, " tokens a minute for a client");
  const std::uint32_t pressure = options.target.scheduler.memory_pressure;
  if (pressure < SchedulerConfig::kMemoryPressure.highest) {
    text += ", memory pressure at " + std::to_string(pressure) + "%";
  }
  return text;
}

}  // namespace

void print_model(Runtime& runtime, const InferOptions& options) {
  const runtime::LoadedModel& model = runtime.model();
  const SchedulerConfig& scheduler = runtime.options().scheduler;
  const CacheShape& cache = scheduler.cache;
  std::cerr << model.name() << " on " << name_of(runtime.options().kind) << ": "
            << runtime::bytes_text(model.weights().bytes()) << " of weights, KV cache of "
            << std::uint64_t{cache.num_blocks} * cache.block_size << " tokens, prefix cache "
            << name_of(scheduler.prefix_cache) << ", " << scheduler.batch.max_batch_size
            << " requests at a time, " << options.loop.queue_limit << " waiting"
            << limits_text(options) << ", " << model.threads().threads() << " threads"
            << (model.has_tokenizer() ? "" : ", no tokenizer: a token is a byte") << '\n';
  if (is_gpu(runtime.options().kind)) print_device(runtime.target());
  print_notes(model);
}

std::string place_of(const serve::Address& address, const InferOptions& options) {
  return address.is_unix() ? to_string(address) : url_of(address, options);
}

void print_welcome(const serve::Address& address, const std::string& model_id,
                   const InferOptions& options) {
  const bool knows_words = model_id == runtime::kBuiltinModel;
  const bool needs_key = !options.api_key_file.empty();
  const std::string url = url_of(address, options);
  std::cout << "listening on " << place_of(address, options) << '\n';
  if (!address.is_unix()) std::cout << "open " << url << "/ in a browser, or ask:\n";
  std::cout << "\ncurl " << (address.is_unix() ? "--unix-socket '" + address.path + "' " : "")
            << "'" << url << "/v1/completions' -H 'Content-Type: application/json' \\\n"
            << (needs_key ? "  -H 'Authorization: Bearer KEY' \\\n" : "") << "  -d '{\"model\": \""
            << model_id << "\", \"prompt\": \""
            << (knows_words ? "What is a slice?" : "Once upon a time")
            << "\", \"temperature\": 0, \"max_tokens\": 64}'\n"
            << std::flush;
}

}  // namespace forge::apps
