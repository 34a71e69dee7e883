// The language of the kernels: CUDA C++ under another name, so that the same source also runs on
// the CPU, thread by thread, where it can be checked, traced and stepped.
//
//   kernel source (cuda/kernels/*.cuh)
//     +-- nvcc -------> dialect_cuda.cuh    every word below is one CUDA word, nothing is added
//     +-- g++, clang -> dialect_fibers.h    a fiber per thread, run by forge/simt/machine.h;
//                                           plain (fast) or instrumented (each access reported)
//
// A kernel takes one struct by value and contains no #ifdef. All words are in namespace simt:
//
//   FORGE_KERNEL(threads) name(Args a)   a kernel; `threads`, a constant, is the most of a block.
//                                        FORGE_KERNEL(threads, blocks): so many blocks are to fit
//                                        on a multiprocessor, which bounds a thread's registers
//   FORGE_DEVICE                         before a function that kernels call
//   thread() lane() warp() threads()     1-D blocks; a warp has kWarpSize = 32 lanes
//   block() grid()                       Index3 {x, y, z}
//   gptr<T> p = global(raw)              pointer to global memory: p[i], p + n; T may be a struct,
//                                        which is then read and written whole
//   FORGE_ROLLED for (...)               nvcc leaves the loop as it is: its body has its loads in
//                                        flight already, and more would only spill registers
//   FORGE_UNROLLED for (...)             nvcc repeats the body, however large: arrays that it
//                                        indexes then are registers
//   SIMT_SHARED(T, name, count)          an array in shared memory; name decays to sptr<T>
//   load4(p), store4(p, v)               16 bytes at once; p is 16-byte aligned
//   load16(p), store16(p, v)             the same of any type, as Words4
//   dot4(a, b, sum)                      sum + a0 b0 + a1 b1 + a2 b2 + a3 b3, of the four signed
//                                        bytes of the words a and b
//   round_pair<T>(a, b)                  a and b rounded to T, BF16 or F16, in a word, a in its low
//                                        half: to nearest, ties to even, overflow to infinity, and
//                                        any NaN is 0x7fff
//   sync_block(), sync_warp()            all threads of the block, of the warp
//   shuffle(v, lane), shuffle_xor(v, m)  all lanes of the warp take part; v has up to 8 bytes
//   warp_sum(v), warp_max(v)             v of all lanes, the same bits in each: the trees of
//                                        numerics/canonical.h (tree_sum, max_reference)
//
// Shared memory of a size that the launch says, copies that go on beside the thread, matrices:
//
//   SIMT_SHARED_DYNAMIC(T, name)         LaunchShape::shared_bytes of it, on a multiple of 128
//   copy_async(to, from, there)          16 bytes from global to shared memory, both on multiples
//                                        of 16, or as many zeros if not `there`: then `from` is not
//                                        looked at. It belongs to the next commit_copies()
//   wait_copies<n>()                     this thread's copies have arrived, but for its last n
//                                        commits. What others copied needs a barrier after it. A
//                                        thread that returns has waited for all of its own
//   load_matrix4(p)                      four matrices of 8 rows of 16 bytes: lane i says where row
//                                        i % 8 of matrix i / 8 begins, and gets a word of each
//                                        (matrix.h). load_matrix4_transposed(p): of 16-bit numbers,
//                                        rows and columns exchanged
//   matrix_step<T>(a, b, c)              c + a b^T (matrix.h): T is BF16 or F16, one step of
//                                        numerics/matrix_step.h, or int8_t, exact
//   shared_add(p, v)                     adds to an integer in shared memory, whoever else does;
//                                        what was there is not told: that would depend on the order
//   start_next()                         the launch after this one may begin, if it overlaps
//   wait_for_previous()                  the launch before has ended; until then what that touches
//                                        must not be touched (launch_chain.h)
//
// Rules
//   1. Blocks have a multiple of 32 threads. Shared arrays are declared at the top of a kernel,
//      where every thread of the block passes.
//   2. All threads of a block reach each sync_block, all lanes of a warp each collective, or none
//      does; a thread that has returned counts as absent. The machine names who is missing.
//   3. Blocks of one launch do not communicate: there are no atomics in global memory and no
//      grid-wide barrier. The result then cannot depend on the order in which blocks or warps run.
//   4. A value that lies in shared or global memory is read through gptr / sptr, never through a
//      raw pointer, or the instrumented build does not see it. Write p[0] for *p, which has no
//      place for the line it is on.
//   5. What p[i] yields is used at once or named with its type: `const float x = p[i]`, not auto.
//
// FORGE_KERNELS is the namespace that kernels are defined in. It names the build, so that one
// program can hold the CUDA and the simulated versions of the same source. FORGE_KERNEL_ENTRY(name)
// is how a table of kernels refers to one: an Entry (machine.h) on a host, the address that the
// CUDA runtime launches by under nvcc.
#pragma once

#ifdef __CUDACC__
#include "forge/simt/dialect_cuda.cuh"
#else
#include "forge/simt/dialect_fibers.h"
#endif
