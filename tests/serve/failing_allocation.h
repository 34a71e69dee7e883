// Lets an allocation of one thread fail, in a program that links failing_allocation.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forge::test {

/// Smaller allocations do not count. The destructor of a JSON object makes one, to take its parts
/// down without recursion, and can do nothing but end the program when that fails.
inline constexpr std::size_t kFailingBytes = 256;

/// From now on allocations of the calling thread count.
void watch_this_thread();

/// The allocation number `number`, from 1 on, of the watched thread from now on throws
/// std::bad_alloc; 0: none does.
void fail_allocation(std::uint64_t number);

/// Whether it has come to that.
bool has_failed();

}  // namespace forge::test
