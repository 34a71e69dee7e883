// All kernels.
#pragma once

#include "attend_decode.cuh"
#include "attend_merge.cuh"
#include "attend_prompt.cuh"
#include "attend_split.cuh"
#include "copy_blocks.cuh"
#include "digest_logits.cuh"
#include "embed.cuh"
#include "project.cuh"
#include "rms_norm.cuh"
#include "rotate_and_store.cuh"
#include "sample.cuh"
#include "silu_multiply.cuh"
#include "update_tables.cuh"
