// Gives each variable of a template its place, before anything runs.
//
// In Jinja a name is not looked up from scope to scope while the template runs; jinja2 decides from
// the text what it refers to, and templates depend on it: {% set %} in a loop makes a variable of
// the loop, which begins each turn as the variable outside was; a name that only a loop uses is
// read from the context at each turn; a macro sees the variables around it as they are when it is
// called. So each frame (the template, a body of a loop, of a macro, of {% with %}, ...) has
// symbols: those that it stores and those that it reads, in the order of the text. What is read
// first comes from outside; what is stored first begins as what it is outside, if anything. The
// branches of an {% if %} are looked at one by one.
#pragma once

#include "syntax.h"

namespace forge::chat::detail {

/// Completes the references and frames of a template. Throws SyntaxError.
void resolve_scopes(FunctionDef& root);

}  // namespace forge::chat::detail
