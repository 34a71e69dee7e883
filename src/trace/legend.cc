#include "forge/trace/legend.h"

namespace forge::trace {

std::string_view legend() {
  return R"(A step as a row:

  0 | +1 +2@8 | [1>4] | 1:0+0,1 2:2+4 | 2:8+1 1:0+2*
  step | queue | copies, if there are any | tables | slices

queue     +1        sequence 1 is admitted
          +1@8      with the KV of 8 tokens: from the prefix cache or the host
          ^1  ^1@8  comes back after a preemption
          -1        is preempted, its KV dropped
          -1~       is preempted, its KV goes to the host
          !1        has ended
copies    [1>4]     block 1 to block 4, before the slices run
          [1>h0]    block 1 to host block 0
          [h0>1]    host block 0 to block 1
tables    1:2+5,6   sequence 1 keeps 2 blocks, then has blocks 5 and 6
slices    1:4+3     sequence 1 runs 3 tokens, from token 4 on; the first is 0
          1:4+3/2   2 of them are drafts
          1:0+2*    they fill the cache, from a prompt or again, to its end
          1:0+2>    the same, with more to come: they yield no token

As show and step have it, the queue's words stand in columns, and

finished  1 length  with the reason
copies    [3 out]   3 blocks to the host; [3 in] from it
blocks    ++1.b     a character each: + of several sequences, . of none,
                    1 of sequence 1, b of sequence 11
waiting   5 6^ 7v   in their order; 6 has high priority, 7 low
swapped   4~6       sequence 4 has 6 blocks on the host
running   7:5/12    has the KV of 5 of the 12 tokens that it knows
          3:+8/16   generates, and has 8 tokens of at most 16
          3:+8/16!  ends with the next step; so of those that wait
result    3=271,38  the tokens that came out
cache     +12<5     block 12 can be found from now on, after block 5;
          +5        block 5, at the start of a prompt
          -7        block 7 can be found no longer
)";
}

}  // namespace forge::trace
