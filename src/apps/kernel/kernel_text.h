// Columns and paragraphs for a terminal of 80 columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forge::apps {

inline constexpr std::size_t kTerminalColumns = 80;

/// `subject`, padded to a column of its own, and the words of `text` beside it, on as many lines as
/// they need. Ends with a newline.
std::string paragraph(const std::string& subject, const std::string& text);

/// The lines of `text`. A line that is too long takes several, of which further ones are indented
/// by two more.
std::string wrapped(const std::string& text);

/// `text`, cut to at most `columns` characters; ".." stands for what was cut.
std::string clipped(const std::string& text, std::size_t columns = kTerminalColumns);

std::string padded_left(const std::string& text, std::size_t columns);
std::string padded_right(const std::string& text, std::size_t columns);

/// "0.25", "12.0", "1234": about three digits, at most `decimals` after the point.
std::string rounded(double number, int decimals);

/// "1 block", "2 blocks".
std::string counted(std::uint64_t count, const std::string& what);

}  // namespace forge::apps
