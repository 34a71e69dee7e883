// Sums whose order is defined, sums whose order something else decides, and an experiment that
// tells one from the other.
//
// A server runs the tokens of a request in steps. A kernel that makes a sum for one of them could
// look at all that is known there (Place), and a setting of the server (Setting) decides what that
// is. Each field of the setting stands for a part of the promise that a request's tokens and logits
// depend on the request alone:
//
//   axis         if it changes a bit, what a request says depends on
//   batch        who else was there
//   chunk        how its prompt was cut, and so on preemption (what was computed is computed again,
//                in other chunks), on cached prefixes and on guessed tokens
//   threads      the machine
//   block_size   how memory is cut
//
// Bits count, not values: 0 and -0 are different, a NaN equals itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace forge::labs::sums {

/// Terms of one segment of a product, and lanes of a sum (forge/numerics/canonical.h).
inline constexpr int kSegment = 256;
inline constexpr int kLanes = 32;

// ---- Sums with an order ---------------------------------------------------------

/// Inner product of a [n] and b [n]: ((s_0 + s_1) + s_2) + ... where s_c is a chain of fma from 0
/// over the terms 256 c, 256 c + 1, ... 256 c + 255, as far as there are any. n = 0 gives 0.
float product(const float* a, const float* b, int n);

/// Sum of x [n]: element i goes to lane i % 32, each lane adds its elements to 0 in ascending
/// order. Then lanes i and i + 16 are added, of these sums i and i + 8, and so on at distances 4, 2
/// and 1.
float sum(const float* x, int n);

// ---- Sums without one -----------------------------------------------------------

/// The product, cut into `parts`, so that so many threads could make it: part p has the terms from
/// n p / parts up to, but not including, n (p + 1) / parts (both rounded down), a chain of fma from
/// 0. The sums of the parts are added to 0, from part 0 on. Requires: parts >= 1.
float split_product(const float* a, const float* b, int n, int parts);

enum class Axis : std::uint8_t { batch, chunk, threads, block_size };
inline constexpr std::array kAxes = {Axis::batch, Axis::chunk, Axis::threads, Axis::block_size};

/// What a kernel could look at when it makes a sum for one row of a step. A step has the rows of
/// all requests that are in it: one for each of the others, which come first, and as many tokens of
/// this request as are left, but no more than its chunk.
struct Place {
  int rows;        ///< of the step: batch - 1 and own_rows
  int own_rows;    ///< of this request: 1 .. chunk
  int row;         ///< this one: 0 .. rows - 1
  int threads;     ///< of the server
  int block_size;  ///< tokens of a block of its KV cache
};

/// The product in an order that depends on the place, and through it on `axis` alone: for most a
/// and b of 100 terms and more, the values 1 to 6 of that field of a setting do not all give the
/// same bits, and no other field ever changes one. It is a sum of the same products; if these are
/// small whole numbers, it is exact.
float broken_product(Axis axis, const Place& place, const float* a, const float* b, int n);

// ---- The experiment -------------------------------------------------------------

struct Setting {
  int batch = 1;  ///< requests in a step, this one among them
  int chunk = 1;  ///< its tokens in a step, at most
  int threads = 1;
  int block_size = 1;

  int& operator[](Axis axis) {
    int* const fields[] = {&batch, &chunk, &threads, &block_size};
    return *fields[static_cast<std::size_t>(axis)];
  }
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// The values to be tried of each axis, all different, in the order in which they are tried.
struct Grid {
  std::array<std::vector<int>, 4> values;

  const std::vector<int>& of(Axis axis) const { return values[static_cast<std::size_t>(axis)]; }
};

/// All settings of a grid: ordered by batch first, then by chunk, threads and block size.
std::vector<Setting> all_settings(const Grid& grid);

/// A server that is asked one request: what comes out under a setting. It may be asked as often as
/// one likes, and always says the same of the same setting.
using Outputs = std::vector<float>;
using Server = std::function<Outputs(const Setting&)>;

/// The first place at which the bits differ; none if they do not. Both have the same length.
std::optional<std::size_t> first_difference(const Outputs& a, const Outputs& b);

/// That an axis changes bits: two settings that differ in nothing else.
struct Witness {
  Axis axis;
  Setting one;
  Setting other;
  std::size_t output;  ///< the first that differs
};

/// One witness of each axis that changes bits anywhere in the grid, in the order of kAxes. It is
/// the first that there is: `one` as early as possible in the order of all_settings, and then
/// `other` as early as possible among the values that its axis has behind that of `one`.
std::vector<Witness> witnesses(const Server& server, const Grid& grid);

}  // namespace forge::labs::sums
