// Loads checkpoints that are damaged, as a program does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forge::testing {

/// How many checkpoints there are to damage: those of tests/golden, and its adapters on their
/// bases.
std::size_t golden_count();

/// Writes one of these, the first two bytes modulo golden_count(), with the damage that the other
/// bytes say, opens it, merges the adapter, packs it and runs a short text. Aborts where an error
/// is not one printable line that names a file, or where logits depend on how the text is run.
/// Returns: whether it could be run.
bool load_damaged(std::span<const std::uint8_t> bytes);

}  // namespace forge::testing
