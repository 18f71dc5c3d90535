#pragma once
// Ctrl-C, and what ends programs otherwise.

#include <atomic>

namespace weft::app {

// Ctrl-C while an object of this type lives: the first asks for an orderly end, the second kills. SIGTERM and SIGHUP
// mean the same: what a batch system or a closed terminal ends keeps what is done. Within another one it changes
// nothing.
class CtrlC {
 public:
  CtrlC();
  ~CtrlC();
  CtrlC(const CtrlC&) = delete;
  CtrlC& operator=(const CtrlC&) = delete;
  static bool pressed();
  static const std::atomic<bool>* token();
};

}  // namespace weft::app
