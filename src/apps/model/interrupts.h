// Ctrl-C while a file is written: the program ends in order, so that no NAME.part stays behind.
#pragma once

namespace forge::apps {

/// From now on SIGINT, SIGTERM and SIGHUP are remembered instead of ending the program; a second
/// one ends it.
void catch_interrupts();

/// Whether one of them has come.
bool was_interrupted();

/// What a command says when it has stopped for one.
inline constexpr const char* kInterrupted = "interrupted; nothing is written";

}  // namespace forge::apps
