// EventWriter: events of the Trace Event Format, one a line, straight to a stream.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string_view>
#include <variant>

#include "forge/trace/text_buffer.h"

namespace forge::trace::detail {

class EventWriter {
 public:
  struct Track {
    std::uint64_t pid = 0;
    std::uint64_t tid = 0;
  };
  struct Argument {
    std::string_view name;
    std::variant<std::uint64_t, std::string_view> value;  ///< a text needs no escaping, too
  };
  using Arguments = std::initializer_list<Argument>;

  explicit EventWriter(std::ostream& out);

  /// Names need no escaping: they are ours. Times are in microseconds.
  void name_process(std::uint64_t pid, std::string_view name);
  void name_thread(Track track, std::string_view name);
  void begin(Track track, std::string_view name, std::uint64_t ts, Arguments arguments = {});
  void end(Track track, std::string_view name, std::uint64_t ts);
  struct Span {
    std::uint64_t ts = 0;
    std::uint64_t dur = 0;
  };
  void complete(Track track, std::string_view name, Span span, Arguments arguments);
  void instant(Track track, std::string_view name, std::uint64_t ts);
  void counter(std::uint64_t pid, std::string_view name, std::uint64_t ts, std::uint64_t value);

  /// Ends the document. Returns the number of events.
  std::uint64_t finish();

 private:
  void start(char phase, Track track, std::string_view name);
  void field(std::string_view name, std::uint64_t value);
  void arguments(Arguments arguments);
  void flush();

  std::ostream& out_;
  TextBuffer line_;
  std::uint64_t events_ = 0;
};

}  // namespace forge::trace::detail
