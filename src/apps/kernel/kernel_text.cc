#include "kernel_text.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace forge::apps {
namespace {

constexpr std::size_t kSubjectColumns = 12;

}  // namespace

std::string paragraph(const std::string& subject, const std::string& text) {
  std::string out = padded_right(subject, kSubjectColumns);
  std::size_t column = kSubjectColumns;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > kSubjectColumns && column + 1 + word.size() > kTerminalColumns) {
      out += "\n" + std::string(kSubjectColumns, ' ');
      column = kSubjectColumns;
    }
    if (column > kSubjectColumns) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string wrapped(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size()) + 2;
    while (line.size() > kTerminalColumns) {
      const std::size_t space = line.rfind(' ', kTerminalColumns);
      if (space == std::string::npos || space < indent) break;  // a word that is longer
      out += line.substr(0, space) + "\n";
      line = std::string(indent, ' ') + line.substr(space + 1);
    }
    out += line + "\n";
  }
  return out;
}

std::string clipped(const std::string& text, std::size_t columns) {
  return text.size() <= columns ? text : text.substr(0, columns - 2) + "..";
}

std::string padded_left(const std::string& text, std::size_t columns) {
  return text.size() >= columns ? text : std::string(columns - text.size(), ' ') + text;
}

std::string padded_right(const std::string& text, std::size_t columns) {
  return text.size() >= columns ? text : text + std::string(columns - text.size(), ' ');
}

std::string rounded(double number, int decimals) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(number >= 1000 ? 0 : decimals) << number;
  return out.str();
}

std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace forge::apps
