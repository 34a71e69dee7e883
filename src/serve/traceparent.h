// traceparent: which trace of a distributed system a request belongs to.
//
//   traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//                version  trace id (16 bytes)       parent (8 bytes) flags
//
// Source: W3C Trace Context, Level 1, section 3.2: lower case; neither id is all zeros; version ff
// is none, and a later one may go on behind the flags.
#pragma once

#include <string_view>

namespace forge::serve {

/// The trace id of such a header; empty where the text is none, which says nothing.
std::string_view trace_id_of(std::string_view traceparent);

}  // namespace forge::serve
