// random_id: a name for a request or an answer that nobody can guess and no other server gives.
#pragma once

#include <string>

namespace forge::serve {

/// 32 hexadecimal digits, 128 random bits of the system's. Thread contract: any thread.
std::string random_id();

}  // namespace forge::serve
