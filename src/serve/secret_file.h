// A file that only its owner, and perhaps a group, may read: keys of clients, the key of a
// certificate.
//
// Thread contract: any thread.
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>

namespace forge::serve {

/// The bytes of the file. Errors: what is wrong, to stand behind the file's name: it cannot be
/// read, is no file, or others than its owner and group may read it, or others than its owner
/// write it.
tl::expected<std::string, std::string> read_secret_file(const std::filesystem::path& file);

}  // namespace forge::serve
