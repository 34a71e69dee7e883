// SseReader: the events of a stream, as their bytes come in.
//
//   data: {"choices":[...]}\n
//   \n                          <- the event ends here
//   : a comment\n\n             <- none
//
// Lines may end with a carriage return, too. Source: WHATWG HTML, "Server-sent events", of which
// what is not data is passed over.
#pragma once

#include <string>
#include <string_view>

namespace forge::apps {

class SseReader {
 public:
  /// Calls event(data) for each event that ends in `bytes`; the view is valid during the call.
  template <class Event>
  void put(std::string_view bytes, const Event& event) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      line_ += bytes.substr(0, end);
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      if (take_line()) {
        event(std::string_view(data_));
        data_.clear();
      }
    }
  }

 private:
  /// True: an event has ended.
  bool take_line() {
    constexpr std::string_view kData = "data:";
    std::string_view line = line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool ends = line.empty() && has_data_;
    if (line.starts_with(kData)) {
      line.remove_prefix(kData.size());
      if (line.starts_with(' ')) line.remove_prefix(1);
      if (has_data_) data_ += '\n';
      data_ += line;
      has_data_ = true;
    }
    line_.clear();
    if (ends) has_data_ = false;
    return ends;
  }

  std::string line_;  // so far
  std::string data_;  // of the event so far
  bool has_data_ = false;
};

}  // namespace forge::apps
