// What each route answers; route_table.cc says which is whose.
//
// Thread contract: the I/O thread.
#pragma once

#include "route_table.h"

namespace forge::serve::handlers {

/// The page for people (page.h).
Answer page(const RouteCall& call);

// For probes (health.h).
Answer ready(const RouteCall& call);
Answer live(const RouteCall& call);
Answer version(const RouteCall& call);

// What the server does and holds.
Answer health(const RouteCall& call);
Answer metrics(const RouteCall& call);
Answer load(const RouteCall& call);
Answer trace(const RouteCall& call);
Answer cache_stats(const RouteCall& call);
Answer cache_clear(const RouteCall& call);

// The model and its tokenizer.
Answer models(const RouteCall& call);
Answer model(const RouteCall& call);
Answer tokenizer_info(const RouteCall& call);
Answer props(const RouteCall& call);

// What the model, or the tokenizer, has to do. Whatever can be refused before texts become tokens
// is.
Answer generate(const RouteCall& call);
Answer completions(const RouteCall& call);
Answer chat(const RouteCall& call);
Answer forge_generate(const RouteCall& call);
Answer completions_render(const RouteCall& call);
Answer chat_render(const RouteCall& call);
Answer batch(const RouteCall& call);
Answer stream(const RouteCall& call);
Answer tokenize(const RouteCall& call);
Answer detokenize(const RouteCall& call);
Answer session_release(const RouteCall& call);

}  // namespace forge::serve::handlers
