#include "event_writer.h"

namespace forge::trace::detail {

EventWriter::EventWriter(std::ostream& out) : out_(out) {
  out_ << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"clock\":\"1 step = 1 ms\"},"
          "\"traceEvents\":[";
}

void EventWriter::start(char phase, Track track, std::string_view name) {
  line_.append(std::string_view(events_++ == 0 ? "\n" : ",\n"));
  line_.append(std::string_view("{\"ph\":\""));
  line_.append(phase);
  line_.append(std::string_view("\",\"name\":\""));
  line_.append(name);
  line_.append('"');
  field("pid", track.pid);
  field("tid", track.tid);
}

void EventWriter::field(std::string_view name, std::uint64_t value) {
  line_.append(std::string_view(",\""));
  line_.append(name);
  line_.append(std::string_view("\":"));
  line_.append(value);
}

void EventWriter::arguments(Arguments arguments) {
  if (arguments.size() == 0) return;
  line_.append(std::string_view(",\"args\":{"));
  bool first = true;
  for (const Argument& argument : arguments) {
    line_.append(std::string_view(first ? "\"" : ",\""));
    first = false;
    line_.append(argument.name);
    line_.append(std::string_view("\":"));
    if (const auto* const text = std::get_if<std::string_view>(&argument.value)) {
      line_.append('"');
      line_.append(*text);
      line_.append('"');
    } else {
      line_.append(std::get<std::uint64_t>(argument.value));
    }
  }
  line_.append('}');
}

void EventWriter::flush() {
  line_.append('}');
  const std::string_view text = line_.view();
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  line_.clear();
}

void EventWriter::name_process(std::uint64_t pid, std::string_view name) {
  start('M', {pid, 0}, "process_name");
  line_.append(std::string_view(",\"args\":{\"name\":\""));
  line_.append(name);
  line_.append(std::string_view("\"}"));
  flush();
}

void EventWriter::name_thread(Track track, std::string_view name) {
  start('M', track, "thread_name");
  line_.append(std::string_view(",\"args\":{\"name\":\""));
  line_.append(name);
  line_.append(std::string_view("\"}"));
  flush();
  start('M', track, "thread_sort_index");
  arguments({{"sort_index", track.tid}});
  flush();
}

void EventWriter::begin(Track track, std::string_view name, std::uint64_t ts, Arguments values) {
  start('B', track, name);
  field("ts", ts);
  arguments(values);
  flush();
}

void EventWriter::end(Track track, std::string_view name, std::uint64_t ts) {
  start('E', track, name);
  field("ts", ts);
  flush();
}

void EventWriter::complete(Track track, std::string_view name, Span span, Arguments values) {
  start('X', track, name);
  field("ts", span.ts);
  field("dur", span.dur);
  arguments(values);
  flush();
}

void EventWriter::instant(Track track, std::string_view name, std::uint64_t ts) {
  start('i', track, name);
  field("ts", ts);
  line_.append(std::string_view(",\"s\":\"t\""));
  flush();
}

void EventWriter::counter(std::uint64_t pid, std::string_view name, std::uint64_t ts,
                          std::uint64_t value) {
  start('C', {pid, 0}, name);
  field("ts", ts);
  arguments({{"value", value}});
  flush();
}

std::uint64_t EventWriter::finish() {
  out_ << "\n]}\n";
  return events_;
}

}  // namespace forge::trace::detail
