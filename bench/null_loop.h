// NullLoop: the engine's loop over a target that answers at once (null_executor.h).
#pragma once

#include <cstdint>

#include "forge/engine/engine_loop.h"
#include "forge/text/byte_tokenizer.h"
#include "null_executor.h"

namespace forge::bench {

/// Its batch has a place for each of `running` requests of up to 512 tokens.
struct NullLoop {
  explicit NullLoop(std::uint32_t running)
      : engine({.cache = {.num_blocks = 32 * running},
                .batch = {.max_batch_size = running, .max_batch_tokens = 4096 + 2 * running}},
               executor),
        loop(engine, tokenizer, {.queue_limit = running}) {}

  apps::NullExecutor executor{0};
  text::ByteTokenizer tokenizer;
  engine::Engine engine;
  engine::EngineLoop loop;
};

}  // namespace forge::bench
