#include "model_card.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "forge/chat/chat_format.h"
#include "forge/runtime/system_fingerprint.h"

namespace forge::apps {
namespace {

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

}  // namespace

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
          .memory = served_memory(runtime),
          .fingerprint = runtime::fingerprint_of(runtime)};
}

}  // namespace forge::apps
