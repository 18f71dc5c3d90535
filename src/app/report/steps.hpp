#pragma once
// The commands that a report is made of: each is run through the front door, as a person would type it, and what it
// prints as records is what the page shows. So the commands on the page are those that made it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/show/rows.hpp"

namespace weft::app {

// argv without the program's name, and where it writes; the exit code.
using FrontDoor = std::function<int(const std::vector<std::string>&, Console&)>;

struct Step {
  std::vector<std::string> words;
  int code = kFine;
  std::string out;
  std::vector<Json> records;  // of `out`, where it is records

  // Those of one kind.
  std::vector<Json> all(const std::string& record) const;
  // Why it could not be done or not to its end; empty: it was.
  std::string trouble() const;
};

// "weft sim 'my cluster.weft.yaml' --json", for a shell.
std::string command_line(const std::vector<std::string>& words);

class Steps {
 public:
  Steps(FrontDoor front_door, std::size_t expected, Console& console)
      : front_door_(std::move(front_door)), expected_(expected), console_(console) {}
  ~Steps();
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // Nothing is run any more once Ctrl-C was pressed: then its code is kInterrupted.
  const Step& run(std::vector<std::string> words);
  bool interrupted() const { return interrupted_; }
  const std::vector<std::unique_ptr<Step>>& all() const { return all_; }

 private:
  void show_progress(const std::string& command);

  FrontDoor front_door_;
  std::size_t expected_;
  Console& console_;
  std::vector<std::unique_ptr<Step>> all_;
  bool interrupted_ = false;
  bool drawn_ = false;
};

}  // namespace weft::app
