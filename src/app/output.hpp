#pragma once
// Where results go: stdout, or a file that appears only when it is whole.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/console.hpp"

namespace weft::app {

// A file that the command line names: "--trace" and its path. Without a path there is none.
struct NamedFile {
  std::string option;
  std::string path;
};

// What must not be written, each with the reason: an output that is one of the inputs, is named like a cluster file, or
// is named twice. Devices and pipes may be.
std::vector<std::string> file_conflicts(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

// Whether files could appear there, said now and not after minutes of runs; names may be empty.
bool can_be_written(const std::vector<std::string>& paths, Console& console);

// Calls write(stream); the exit code.
int write_output(const std::string& output, Console& console, const std::function<void(std::ostream&)>& write);

// "cannot write X: No space left on device", of the error that a call left in errno.
std::string cannot_write(const std::string& path, int error);

}  // namespace weft::app
