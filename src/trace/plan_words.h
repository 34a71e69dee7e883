// The parts of a plan and its result as words for people, the same ones wherever they are shown;
// trace_show.h and step_frame.h say what they mean.
#pragma once

#include <string>
#include <vector>

#include "forge/core/cache_delta.h"
#include "forge/core/step_plan.h"

namespace forge::trace::detail {

using Words = std::vector<std::string>;

Words admission_words(const std::vector<Admission>& admissions);
Words preemption_words(const StepPlan& plan);
Words finish_words(const StepPlan& plan);
Words copy_words(const StepPlan& plan);
Words slice_words(const StepPlan& plan);
Words table_words(const StepPlan& plan);
Words cache_words(const CacheDelta& delta);
Words result_words(const StepResult& result);

/// Words joined by spaces into lines of at most `width`; a longer word is broken.
std::vector<std::string> wrap(const Words& words, std::size_t width);

}  // namespace forge::trace::detail
