// What a server says of the model that a runtime has loaded (openai_api.h).
#pragma once

#include "forge/runtime/open.h"
#include "forge/serve/openai_api.h"

namespace forge::apps {

/// Borrows the runtime.
serve::ModelCard model_card(Runtime& runtime);

}  // namespace forge::apps
