// What is told of a plan and its result beside the words of core/notation.h; legend.h explains
// both.
#pragma once

#include <string>
#include <vector>

#include "forge/core/cache_delta.h"
#include "forge/core/notation.h"
#include "forge/core/step_plan.h"

namespace forge::trace::detail {

using Words = PlanWords;

/// With reasons.
Words finish_words(const StepPlan& plan);
/// Copies within the device one by one, of swaps only how many.
Words copy_words(const StepPlan& plan);
Words cache_words(const CacheDelta& delta);
Words result_words(const StepResult& result);

/// Words joined by spaces into lines of at most `width`; a longer word is broken.
std::vector<std::string> wrap(const Words& words, std::size_t width);

}  // namespace forge::trace::detail
