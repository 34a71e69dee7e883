"""What is handed in for lab 1 (a StopFilter) and is not meant to pass by being right. Each is the project's
own source behind some lines of C++, most of which run before main; what they find they print, and end."""

import os
import textwrap

SAY = """
    #include <fcntl.h>
    #include <netinet/in.h>
    #include <sys/mman.h>
    #include <sys/shm.h>
    #include <sys/socket.h>
    #include <unistd.h>
    #include <cstdio>
    #include <cstdlib>
    #include <cstring>
    #include <filesystem>
    #include <fstream>
    #include <string>
    namespace {
    [[noreturn]] void say(const std::string& text) {
      (void)!write(2, text.data(), text.size());
      _exit(7);
    }
    /// Calls `look` with every file outside of /usr that can be seen.
    template <class Look>
    void walk(const Look& look) {
      namespace fs = std::filesystem;
      int left = 20000;
      const auto options = fs::directory_options::skip_permission_denied;
      std::error_code error;
      for (fs::recursive_directory_iterator at("/", options, error), end; at != end && left > 0; --left) {
        if (at->path() == "/usr" || at->is_symlink(error)) at.disable_recursion_pending();
        look(at->path());
        at.increment(error);
      }
    }
    }
"""

READS_THE_SECRET = """
    extern char** environ;
    namespace {
    struct Early {
      Early() {
        const std::string path = "SECRET";
        for (const std::string before : {"", "/proc/1/root", "/proc/self/cwd", "../../../.."}) {
          if (std::ifstream(before + path)) say("secret at " + before + path);
        }
        for (int fd = 3; fd < 2000; ++fd) {
          if (fcntl(fd, F_GETFD) != -1) say("secret: descriptor " + std::to_string(fd));
        }
        for (char** variable = environ; *variable != nullptr; ++variable) {
          if (std::strncmp(*variable, "PWD=", 4) != 0) say("secret: " + std::string(*variable));
        }
        walk([](const std::filesystem::path& path) {
          const auto kind = path.extension();
          if (kind == ".json" || kind == ".exhibit" || kind == ".cc" || kind == ".py") {
            say("secret at " + path.string());
          }
        });
        say("nothing was found");
      }
    } early;
    }
"""

CALLS_OUT = """
    namespace {
    struct Early {
      Early() {
        const int line = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in where = {};
        where.sin_family = AF_INET;
        where.sin_port = htons(PORT);
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const bool heard = connect(line, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
        say(heard ? "somebody answered" : "nobody answered");
      }
    } early;
    }
"""

FORGES_ANSWERS = r"""
    namespace {
    struct Early {
      Early() {
        for (int i = 0; i < 4000; ++i) std::puts(R"({"answer":["at the end: \"\""]})");
        std::fflush(stdout);
        _exit(0);
      }
    } early;
    }
"""

ANSWERS_DEEPLY = r"""
    namespace {
    struct Early {
      Early() {
        std::puts((R"({"answer":)" + std::string(1 << 20, '[')).c_str());
        std::fflush(stdout);
        pause();
      }
    } early;
    }
"""

LACKS_NOTHING = r"""
    namespace {
    struct Early {
      Early() {
        for (int i = 0; i < 4000; ++i) std::puts(R"({"not_begun":""})");
        std::fflush(stdout);
        _exit(0);
      }
    } early;
    }
"""

SAYS_NONSENSE = r"""
    namespace {
    struct Early {
      Early() {
        std::puts(R"({"not_begun":"=1+1"})");
        std::fflush(stdout);
        _exit(0);
      }
    } early;
    }
"""

ANSWERS_WITHOUT_END = r"""
    namespace {
    struct Early {
      Early() {
        const std::string deep(1 << 16, '[');
        for (;;) (void)!write(1, deep.data(), deep.size());
      }
    } early;
    }
"""

EXITS_EARLY = "namespace { struct Early { Early() { _exit(0); } } early; }"
FORKS = "namespace { struct Early { Early() { for (;;) fork(); } } early; }"
CLOSES_ITS_ANSWERS = "namespace { struct Early { Early() { close(1); pause(); } } early; }"

FILLS_THE_DISK = """
    namespace {
    struct Early {
      Early() {
        walk([](const std::filesystem::path& path) {
          const std::string file = path.string() + "/filled";
          if (open(file.c_str(), O_CREAT | O_WRONLY, 0600) >= 0) say("wrote " + file);
          if (open(path.c_str(), O_WRONLY) >= 0 && path != "/dev/null") say("wrote " + path.string());
        });
        const std::string much(1 << 16, 'x');
        for (;;) (void)!write(2, much.data(), much.size());
      }
    } early;
    }
"""

FILLS_THE_MEMORY = """
    namespace {
    struct Early {
      Early() {
        const std::size_t mib = 1 << 20;
        std::size_t taken = 0;
        while (void* part = std::malloc(16 * mib)) {
          *static_cast<volatile char*>(part) = 1;
          taken += 16;
        }
        const bool shared = shmget(IPC_PRIVATE, 16 * mib, IPC_CREAT | 0600) >= 0;
        const bool file = memfd_create("filled", 0) >= 0;
        char text[80];
        std::snprintf(text, sizeof text, "%zu MiB, %d shared, %d in a file", taken, shared, file);
        say(text);
      }
    } early;
    }
"""


def behind(lines, source):
    return textwrap.dedent(SAY) + textwrap.dedent(lines) + "\n" + source


def write_those_who_never_end(folder, source):
    for student, lines in {
        "answers_without_end": ANSWERS_WITHOUT_END,
        "forks": FORKS,
        "closes_its_answers": CLOSES_ITS_ANSWERS,
    }.items():
        file(folder, student).write_text(behind(lines, source))


def write_the_others(folder, source, secret, own, port):
    """`own` is the path of `source`."""
    of_student = {
        "reads_the_secret": behind(READS_THE_SECRET.replace("SECRET", str(secret)), source),
        "calls_out": behind(CALLS_OUT.replace("PORT", str(port)), source),
        "forges_answers": behind(FORGES_ANSWERS, source),
        "answers_deeply": behind(ANSWERS_DEEPLY, source),
        "lacks_nothing": behind(LACKS_NOTHING, source),
        "says_nonsense": behind(SAYS_NONSENSE, source),
        "exits_early": behind(EXITS_EARLY, source),
        "fills_the_disk": behind(FILLS_THE_DISK, source),
        "fills_the_memory": behind(FILLS_THE_MEMORY, source),
        "has_a_main": behind("int main() { say(R\"({\"answer\":[]})\"); }", source),
        "includes_the_solution": f'#include "{own}"\n',
        "includes_it_by_another_way": f'#include "../..{own}"\n',
        "includes_the_secret": f'#include "{secret}"\n{source}',
        "leaves_it_to_the_library": "namespace forge {}\n",
    }
    for student, text in of_student.items():
        file(folder, student).write_text(text)
    file(folder, "links_to_the_solution").symlink_to(own)
    os.mkfifo(file(folder, "is_a_pipe"))
    file(folder, "is_large").write_text(source + "// " + "x" * (1 << 20))
    file(folder, "=is_a_formula").write_text(source)


def file(folder, student):
    """Where a student's file is."""
    path = folder / student / "01_stop_strings/stop_filter.cc"
    path.parent.mkdir(parents=True)
    return path
