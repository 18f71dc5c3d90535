#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "cli/cli.hpp"

namespace {

bool wants_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(descriptor) == 1;
}

std::size_t terminal_width(int descriptor) {
  winsize size{};
  if (isatty(descriptor) != 1) return 0;
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

int main(int argc, char** argv) {
  weft::app::Console console{std::cout,
                             std::cerr,
                             wants_colour(STDOUT_FILENO),
                             wants_colour(STDERR_FILENO),
                             terminal_width(STDOUT_FILENO),
                             terminal_width(STDERR_FILENO)};
  try {
    const int code = weft::cli::run({argv + 1, argv + argc}, console);
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "weft: cannot write to standard output\n";
      return weft::app::kThisMachine;
    }
    return code;
  } catch (const std::bad_alloc&) {
    std::cerr << "weft: out of memory\n";
    return weft::app::kThisMachine;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      std::cerr << "weft: cannot start a thread: " << error.code().message() << "; --threads 1 starts none\n";
    else
      std::cerr << "weft: " << error.what() << "\n";
    return weft::app::kThisMachine;
  } catch (const std::exception& error) {
    std::cerr << "weft: this is a bug: " << error.what() << "\nrepeat with:";
    for (int i = 0; i < argc; ++i) std::cerr << ' ' << argv[i];
    std::cerr << "\n";
    return weft::app::kOurBug;
  }
}
