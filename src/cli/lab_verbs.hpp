#pragma once
// `weft lab VERB`: the command line of the lab.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/lab/lab_options.hpp"

namespace weft::cli {

struct LabVerbs {
  app::LabUpOptions up;
  app::LabOptions status;
  app::LabOptions down;
  app::LabExecOptions exec;
  app::LabTrafficOptions traffic;
  app::LabFaultOptions fail;
  app::LabFaultOptions heal;
  app::LabCaptureOptions capture;
  app::LabMetricsOptions metrics;
  app::LabPodOptions pod;
};

// `up` reads a cluster file: its options are added by who knows them.
CLI::App* add_lab(CLI::App& app, LabVerbs& verbs);  // the command of `up`
int run_lab(const CLI::App& lab, const LabVerbs& verbs, app::Console& console);
const std::vector<std::string>& lab_verbs();

}  // namespace weft::cli
