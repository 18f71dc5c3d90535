#include "app/ctrl_c.hpp"

#include <signal.h>

#include <iterator>

namespace weft::app {
namespace {

std::atomic<bool> ctrl_c_pressed = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may write it
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before_ctrl_c[std::size(kSignals)];
int ctrl_c_objects = 0;  // a command that runs others holds the first

void on_ctrl_c(int) { ctrl_c_pressed = true; }

}  // namespace

CtrlC::CtrlC() {
  if (ctrl_c_objects++ > 0) return;
  ctrl_c_pressed = false;
  struct sigaction action {};
  action.sa_handler = on_ctrl_c;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);  // the second one finds the default again
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before_ctrl_c[i]);
    if (before_ctrl_c[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);  // nohup stays nohup
  }
}

CtrlC::~CtrlC() {
  if (--ctrl_c_objects > 0) return;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_ctrl_c[i], nullptr);
}

bool CtrlC::pressed() { return ctrl_c_pressed; }
const std::atomic<bool>* CtrlC::token() { return &ctrl_c_pressed; }

}  // namespace weft::app
