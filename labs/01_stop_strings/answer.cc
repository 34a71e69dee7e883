// Text through a StopFilter, in the pieces in which it comes.
#include "answering.h"
#include "forge/text/stop_filter.h"

namespace forge::labs {
namespace {

/// {"stops": [...], "pieces": [...]} -> what was let through after each piece.
Json push(const Json& input) {
  text::StopFilter filter(input.at("stops").get<std::vector<std::string>>());
  Json let_through = Json::array();
  std::string out;
  for (const Json& piece : input.at("pieces")) {
    out.clear();
    filter.push(piece.get<std::string>(), out);
    let_through.push_back("after \"" + piece.get<std::string>() + "\": \"" + out + "\"" +
                          (filter.stopped() ? ", stopped" : ""));
  }
  return let_through;
}

/// The same and {"again": [...]} -> what comes out at the end, and of a text that comes after it.
Json finish(const Json& input) {
  text::StopFilter filter(input.at("stops").get<std::vector<std::string>>());
  std::string out;
  for (const Json& piece : input.at("pieces")) filter.push(piece.get<std::string>(), out);
  out.clear();
  filter.finish(out);
  Json let_through = Json::array({"at the end: \"" + out + "\""});
  for (const Json& piece : input.value("again", Json::array())) {
    out.clear();
    filter.push(piece.get<std::string>(), out);
    let_through.push_back("then after \"" + piece.get<std::string>() + "\": \"" + out + "\"" +
                          (filter.stopped() ? ", stopped" : ""));
  }
  return let_through;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"advance", push}, {"push", push}, {"finish", finish}};
}

}  // namespace forge::labs
