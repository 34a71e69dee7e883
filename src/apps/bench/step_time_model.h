// StepTimeModel: what a step takes on one target, by what it has to do (step_work.h).
//
//   us(step) = c_step + c_decode decodes + c_draft drafts + c_prompt_row prompt_rows
//            + c_decode_key decode_keys + c_far_key max(0, decode_keys - near_keys)
//            + c_prompt_key prompt_keys + c_copied_block blocks_copied
//
// Why these. Matrix products and all else that is done row by row cost each row the same once the
// weights are in a cache, and the step once while they get there: c_step, c_decode (with its
// logits and its pick), c_prompt_row. Attention reads keys: those of a prompt chunk are read by
// its other rows, too, and so come from a near cache. Those of decodes are read once a step, layer
// after layer, so that beyond some number, near_keys, they no longer are where the step before has
// left them, and each costs more by c_far_key. A draft costs its row, and what proposes it.
//
// The coefficients are not negative, and minimise the sum of |us(step) / measured - 1|: relative
// errors, so that short steps count as much as long ones; absolute, not squared, since now and
// then something else interrupts a step. How: least squares, again and again with the weights
// 1 / max(|error|, 1%) of the time before (iteratively reweighted least squares; Schlossmacher,
// JASA 1973). Least squares without negative coefficients are those of some subset of the terms,
// so all subsets are solved and the best admissible is kept. near_keys is the best of 512, 768,
// 1024, 1536, ... All operations are rounded as IEEE 754 says, so the result is the same on every
// machine.
//
// Thread contract: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "forge/core/names.h"
#include "step_work.h"

namespace forge::apps {

enum class StepTerm : std::uint8_t {
  step,
  decode,
  draft,
  prompt_row,
  decode_key,
  far_key,
  prompt_key,
  copied_block
};
constexpr Names<StepTerm> names_of(StepTerm) {
  return {"step",       "decode",  "draft",      "prompt_row",
          "decode_key", "far_key", "prompt_key", "copied_block"};
}
/// A number for each term.
using StepTerms = std::array<double, Names<StepTerm>::kCount>;

struct StepTimeModel {
  StepTerms us{};  ///< coefficients, in microseconds, [StepTerm]
  std::uint64_t near_keys = 0;
  std::array<bool, Names<StepTerm>::kCount> fitted{};  ///< had some step of the fit such work?

  double us_of(const StepWork& work) const;

  /// The first term of which the work has something and the fit had nothing.
  std::optional<StepTerm> unknown(const StepWork& work) const;
};

/// A step and what it took.
struct TimedWork {
  StepWork work;
  double us = 0;  ///< above 0
};

/// Requires: there are steps.
StepTimeModel fit_step_times(std::span<const TimedWork> steps);

/// {"us":{"step":6.4,"decode":4.2,...},"near_keys":3072}, terms without a fit left out.
nlohmann::ordered_json to_json(const StepTimeModel& model);

}  // namespace forge::apps
