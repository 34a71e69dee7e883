// Runs the request of a receipt again and compares each token, as far as the receipt goes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/receipt/receipt.h"
#include "forge/runtime/open.h"

namespace forge::apps {

/// The first token that is not as the receipt has it.
struct ReceiptDifference {
  std::size_t index = 0;  ///< in the output, from 0
  std::string recorded;   ///< "token 361", "log-probability -1.25 (bfa00000)"
  std::string here;
};

/// Nothing: every token has the same bits, and the output ends as the receipt says; one that a
/// deadline cut is equal as far as it goes. Errors: what of the request is not of this model, or is
/// refused; what the target says where it fails.
/// Requires: the model's fingerprint is the receipt's; the runtime has no other work.
tl::expected<std::optional<ReceiptDifference>, std::string> run_again(
    const receipt::Receipt& receipt, runtime::Runtime& runtime);

}  // namespace forge::apps
