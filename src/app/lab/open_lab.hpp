#pragma once
// The lab that a command is about.

#include <optional>
#include <string>

#include "app/lab/lab_options.hpp"
#include "lab/lab.hpp"

namespace weft::app {

struct OpenLab {
  lab::State state;
  lab::Plan plan;

  // Of a device or a pod; nullopt: there is none of that name.
  std::optional<std::string> netns(const std::string& name) const;
};

// The name that was given, or the only lab there is. Without one the reason is printed.
std::optional<std::string> chosen_lab(const LabOptions& options, Console& console);
std::optional<OpenLab> open_lab(const LabOptions& options, lab::State::Access access, Console& console);

// Says no, as text or as a record.
int refuse_lab(const LabOptions& options, const std::string& text, int code, Console& console);

}  // namespace weft::app
