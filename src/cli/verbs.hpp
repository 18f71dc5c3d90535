#pragma once
// The verbs of the command line: what parsing fills in, and who adds each verb with its options, by what they are for.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "cli/lab_verbs.hpp"

namespace weft::cli {

// Everything that the parsed command line fills in; one verb is chosen by CLI11.
struct Verbs {
  app::InputOptions check;
  app::ShowOptions show;
  std::vector<std::string> show_rest;
  app::SimOptions sim;
  app::CompareOptions compare;
  app::ValidateOptions validate;
  app::WhyOptions why;
  app::PlanCommandOptions plan;
  app::PlotOptions plot;
  app::SweepOptions sweep;
  app::DstOptions dst;
  app::RenderOptions render;
  app::PlaceOptions place;
  app::RunVerbOptions run;
  app::DoctorOptions doctor;
  app::ReportOptions report;
  LabVerbs lab;
  app::CatalogOptions catalog;
  app::InitOptions init;
  app::SchemaView view = app::SchemaView::json_schema;
  std::string code;
  bool json = false;
  std::string shell;
  std::string helped;
  std::string man_directory;
  bool quiet = false;
};

// Describe a cluster (describe_verbs.cpp).
void add_check(CLI::App& app, Verbs& verbs);
void add_show(CLI::App& app, Verbs& verbs);
void add_init(CLI::App& app, Verbs& verbs);
void add_catalog(CLI::App& app, Verbs& verbs);
void add_schema(CLI::App& app, Verbs& verbs);
// Ask what it will do (ask_verbs.cpp).
void add_sim(CLI::App& app, Verbs& verbs);
void add_compare(CLI::App& app, Verbs& verbs);
void add_sweep(CLI::App& app, Verbs& verbs);
void add_plan(CLI::App& app, Verbs& verbs);
void add_why(CLI::App& app, Verbs& verbs);
void add_plot(CLI::App& app, Verbs& verbs);
// Decide and build (decide_verbs.cpp).
void add_report(CLI::App& app, Verbs& verbs);
void add_place(CLI::App& app, Verbs& verbs);
void add_render(CLI::App& app, Verbs& verbs);
// Run it for real (run_verbs.cpp; the lab: lab_verbs.hpp).
void add_doctor(CLI::App& app, Verbs& verbs);
void add_run(CLI::App& app, Verbs& verbs);
// How far to trust it (trust_verbs.cpp).
void add_validate(CLI::App& app, Verbs& verbs);
void add_dst(CLI::App& app, Verbs& verbs);
// Help: explain, completion, help, version (help_verbs.cpp).
void add_help(CLI::App& app, Verbs& verbs);

}  // namespace weft::cli
