// What the writer and the reader of receipts share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace forge::receipt {

/// The digest of a receipt, as its field has it. A `digest` that it has is left out.
std::string digest_of(nlohmann::json receipt);

}  // namespace forge::receipt
