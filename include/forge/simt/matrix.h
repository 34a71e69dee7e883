// Matrices as the lanes of a warp hold them: what tensor cores multiply.
//
//   D[16][8] = C[16][8] + A[16][K] B[8][K]^T        K = 16 numbers of 16 bits, or 32 bytes
//
// A row of A, and of B, is 32 bytes, 8 words. With g = lane / 4 and t = lane % 4, a lane holds
//
//   a[0]  A[g]    word t        b[0]  B[g] word t            d[0]  D[g]    [2 t]
//   a[1]  A[g+8]  word t        b[1]  B[g] word t + 4        d[1]  D[g]    [2 t + 1]
//   a[2]  A[g]    word t + 4                                 d[2]  D[g+8]  [2 t]
//   a[3]  A[g+8]  word t + 4                                 d[3]  D[g+8]  [2 t + 1]
//
// load_matrix4 (dialect.h) brings these words from rows of 16 bytes, four words, in shared memory:
// one of A, or two of B.
//
// Source: PTX ISA, "Matrix Fragments" for mma.m16n8k16 and mma.m16n8k32.
#pragma once

#include <cstdint>
#include <type_traits>

namespace forge::simt {

struct MatrixA {
  std::uint32_t words[4];
};
struct MatrixB {
  std::uint32_t words[2];
};
/// C and D. T: SumOf of the type of the factors.
template <class T>
struct MatrixSum {
  T at[4];
};
/// What products of T are added up in: float, of bytes std::int32_t.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;

}  // namespace forge::simt
