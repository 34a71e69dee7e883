// Commands that a page shows and what the page says that they print, so that a test can run them.
//
// A transcript is an indented or fenced block, or a part of one, that begins with "$ ". Lines that
// follow a line with a backslash at its end belong to the command; the others, up to the next "$ ",
// are what it prints.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "apps/programs.h"

namespace forge::testing {

struct Transcript {
  std::string section;              ///< the last heading before it
  std::string command;              ///< as a shell takes it
  std::vector<std::string> output;  ///< without the block's indentation
};

/// The transcripts of a page in Markdown, in its order.
std::vector<Transcript> transcripts_of(const std::string& page);

/// The text of the page's first block that is fenced and of `language`; empty if there is none.
std::string fenced_block(const std::string& page, const std::string& language);

std::vector<std::string> lines_of(const std::string& text);

/// A part of a line that is not the same in every run. Every match of `pattern` becomes
/// `replacement` in the page and in what was printed, before they are compared. The pattern holds
/// what stands around the part, so that nothing else is forgiven.
struct Wildcard {
  std::regex pattern;
  std::string replacement;
};

std::string generalized(std::string line, const std::vector<Wildcard>& wildcards);

/// Whether `shown` is `printed`. A line "..." of `shown` stands for any number of lines.
bool shows(const std::vector<std::string>& shown, const std::vector<std::string>& printed);

/// Runs a command in `folder`, with the built programs first on the PATH.
Outcome run_in(const std::string& folder, const std::string& command);

/// Runs each transcript of the page at `path` in the root of the source, in order, and expects what
/// it shows; each command begins with `program`. Returns how many there are.
std::size_t expect_page_shows_what_is_printed(const std::string& path, const std::string& program);

}  // namespace forge::testing
