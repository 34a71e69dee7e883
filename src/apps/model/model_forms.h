// How the matrices of a checkpoint are stored and read, and what of the model is not in its files
// but assumed: parts of what forge-model info says.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "forge/checkpoint/checkpoint.h"

namespace forge::apps {

/// "Q4_K", "GPTQ of 4 bits in groups of 128", "F8_E4M3 in blocks of 128 x 128", ...
std::string form_name(const linear::StoredLinear& matrix);

/// Of each form: how many matrices have it, "matrices", and the kind of panels in which products
/// read them, "packed_as" (linear/linear_weights.h).
nlohmann::ordered_json form_facts(const checkpoint::Checkpoint& checkpoint);

/// A sentence for each property of the model that the file leaves out, and what it is taken for.
/// Files of Hugging Face must say theirs, or mean the defaults of transformers.
std::vector<std::string> assumptions(const checkpoint::Checkpoint& checkpoint);

}  // namespace forge::apps
