#pragma once
// Other people's programs, in a network namespace or in weft's own.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::host {

struct Command {
  std::vector<std::string> arguments;
  std::string netns;                          // a name, or a path; empty: weft's own
  std::string input;                          // what it reads
  std::vector<std::string> environment = {};  // NAME=VALUE, beside what weft itself has
  bool errors_apart = false;                  // what it says on stderr is kept out of `text`
};

struct Finished {
  int code = 0;             // 127: could not be started; 128 and more: ended by a signal
  std::string text;         // what it said, on both streams
  std::string errors = {};  // on stderr, where that was asked for
};

Finished run(const Command& command);
// The same for many, a few at a time; results in their order.
std::vector<Finished> run_all(const std::vector<Command>& commands, std::size_t at_a_time,
                              const std::function<void(std::size_t done)>& progress = {});

// One that goes on after weft; what it says goes to a file. -1: it could not be started.
pid_t start(const Command& command, const std::string& log_file);

// Runs `work` in a thread that has entered a namespace, given by name or path; sockets and processes made there belong
// to it. False: there is no such namespace, or it may not be entered.
bool within(const std::string& netns, const std::function<void()>& work);

// Enters a namespace for good, with the lab's names in /etc/hosts and a name of its own; for who becomes another
// program next. What failed; empty: nothing.
std::string enter(const std::string& netns, const std::string& hosts_file, const std::string& hostname);
// The program takes weft's place, so that signals, exit code and terminal are its own. Returns why it cannot.
std::string become(const std::vector<std::string>& command);

bool is_installed(const std::string& program);  // a path, or a name that PATH finds

}  // namespace weft::host
