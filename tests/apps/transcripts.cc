#include "apps/transcripts.h"

#include <sstream>

namespace forge::testing {
namespace {

constexpr const char* kPrompt = "$ ";
constexpr const char* kLeftOut = "...";
constexpr std::size_t kBlockIndent = 4;  ///< of a block that is not fenced

bool starts_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

/// Goes through a page line by line.
class TranscriptReader {
 public:
  void read(const std::string& line) {
    if (starts_with(line, "```")) {
      fenced_ = !fenced_;
      inside_ = false;
    } else if (!fenced_ && starts_with(line, "#")) {
      section_ = line.substr(std::min(line.find_first_not_of("# "), line.size()));
      inside_ = false;
    } else {
      read_text(line);
    }
  }

  std::vector<Transcript> transcripts;

 private:
  void read_text(const std::string& line) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if ((fenced_ || indent >= kBlockIndent) && line.compare(indent, 2, kPrompt) == 0) {
      transcripts.push_back({section_, line.substr(indent + 2), {}});
      inside_ = true;
      indent_ = indent;
      blank_lines_ = 0;
    } else if (inside_ && indent == line.size()) {
      ++blank_lines_;  // in the block if more of it follows
    } else if (inside_ && indent >= indent_) {
      read_inside(line.substr(indent_));
    } else {
      inside_ = false;
    }
  }

  void read_inside(const std::string& line) {
    Transcript& transcript = transcripts.back();
    if (transcript.output.empty() && transcript.command.back() == '\\') {
      transcript.command += '\n' + line;
      return;
    }
    transcript.output.insert(transcript.output.end(), blank_lines_, "");
    transcript.output.push_back(line);
    blank_lines_ = 0;
  }

  std::string section_;
  bool fenced_ = false;
  bool inside_ = false;  ///< a transcript
  std::size_t indent_ = 0;
  std::size_t blank_lines_ = 0;
};

}  // namespace

std::vector<Transcript> transcripts_of(const std::string& page) {
  TranscriptReader reader;
  for (const std::string& line : lines_of(page)) reader.read(line);
  return std::move(reader.transcripts);
}

std::string fenced_block(const std::string& page, const std::string& language) {
  const std::string opening = "\n```" + language + '\n';
  const std::size_t at = page.find(opening);
  if (at == page.npos) return "";
  const std::size_t begin = at + opening.size();
  const std::size_t end = page.find("\n```", begin);
  return end == page.npos ? "" : page.substr(begin, end + 1 - begin);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string generalized(std::string line, const std::vector<Wildcard>& wildcards) {
  for (const Wildcard& wildcard : wildcards) {
    line = std::regex_replace(line, wildcard.pattern, wildcard.replacement);
  }
  return line;
}

bool shows(const std::vector<std::string>& shown, const std::vector<std::string>& printed) {
  std::size_t at = 0;
  bool anywhere = false;
  for (const std::string& line : shown) {
    if (line == kLeftOut) {
      anywhere = true;
      continue;
    }
    while (anywhere && at < printed.size() && printed[at] != line) ++at;
    if (at == printed.size() || printed[at] != line) return false;
    ++at;
    anywhere = false;
  }
  return anywhere || at == printed.size();
}

Outcome run_in(const std::string& folder, const std::string& command) {
  return run("cd '" + folder + "' && PATH='" FORGE_PROGRAMS "':\"$PATH\" && {\n" + command + "\n}");
}

std::size_t expect_page_shows_what_is_printed(const std::string& path, const std::string& program) {
  const auto transcripts = transcripts_of(read_file(path));
  for (const Transcript& transcript : transcripts) {
    EXPECT_TRUE(starts_with(transcript.command, program + ' ')) << transcript.command;
    const Outcome outcome = run_in(FORGE_SOURCE_DIR, transcript.command);
    EXPECT_LE(outcome.status, 2) << transcript.command;
    EXPECT_TRUE(shows(transcript.output, lines_of(outcome.output))) << transcript.command << '\n'
                                                                    << outcome.output;
  }
  return transcripts.size();
}

}  // namespace forge::testing
