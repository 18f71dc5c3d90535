// The command line of verbs that decide and build.

#include "cli/shared_options.hpp"
#include "cli/verbs.hpp"

namespace weft::cli {

void add_report(CLI::App& app, Verbs& verbs) {
  app::ReportOptions& options = verbs.report;
  CLI::App* command = app.add_subcommand("report", "write one page of HTML to take into the meeting");
  add_input(*command, options.input, true);
  command->add_option("-o,--output", options.output, "FILE.html, or a directory for page and bom.csv")
      ->option_text("PATH");
  const auto several = [&](const std::string& name, std::vector<std::string>& values, const std::string& text,
                           const std::string& type) {
    command->add_option(name, values, text)->type_name(type)->take_all()->allow_extra_args(false);
  };
  several("--collective", options.collectives, "default: all_reduce and all_to_all", "NAME");
  command->add_option("--sizes,--size", options.sizes, "of collectives: 8..8G")->option_text("SIZES");
  command->add_option("--gpus", options.gpus, "that take part in collectives; 0: all")->option_text("N=0");
  several("--fault", options.faults, "to try; default: the first spine goes down", "PART,KEY=VALUE");
  several("--with", options.with, "another cluster to compare it with", "FILE");
  several("--vary", options.vary, "variants to compare: fabric.spines=2,4", "PATH=A,B");
  command->add_option("--limit", options.limit, "of each run: wall=60s,memory=4GiB")
      ->type_name("WHAT=MOST")
      ->capture_default_str();
  command->footer(
      "The page has the drawing, counts, what has to be bought, what collectives get,\n"
      "a training step where the file has one, faults that were tried, the comparison,\n"
      "how far published measurements are from the model, and the commands that made\n"
      "it. It needs no network and no other file.\n"
      "\n"
      "Examples:\n"
      "  weft report acp.weft.yaml\n"
      "  weft report acp.weft.yaml --with rail-only.weft.yaml -o report.html\n"
      "  weft report acp.weft.yaml --fault spine0,kind=blackhole,at=50us -o meeting");
}

void add_place(CLI::App& app, Verbs& verbs) {
  app::PlaceOptions& options = verbs.place;
  CLI::App* command = app.add_subcommand("place", "choose GPUs for a job, and say what that trades off");
  add_input(*command, options.input, true);
  add_topology(*command, options.input);
  command->add_option("--gpus", options.gpus, "that the job wants")
      ->required()
      ->check(CLI::Range(1, 16'777'216).description(""))
      ->option_text("N");
  command->add_option("--tenant", options.tenant, "whose servers; default: those that nobody owns")->type_name("NAME");
  command->add_option("--nics-per-gpu", options.nics_per_gpu, "take fewer GPUs of a server, so that each has as many")
      ->check(CLI::Range(0.0, 64.0).description(""))
      ->option_text("K");
  command->footer(
      "A job gets the smallest place that holds it: a server, an NVLink domain, a\n"
      "scalable unit, a pod; in each server the GPUs next to a NIC first, and of all\n"
      "servers as many.\n"
      "\n"
      "Examples:\n"
      "  weft place acp.weft.yaml --gpus 64\n"
      "  weft place acp.weft.yaml --gpus 16 --tenant research --nics-per-gpu 1 --json");
}

void add_render(CLI::App& app, Verbs& verbs) {
  app::RenderOptions& options = verbs.render;
  CLI::App* command = app.add_subcommand("render", "write the files that real machines start from");
  command->add_option("target", options.target, "for which program; see below")
      ->required()
      ->check(CLI::IsMember(app::render_targets()).description(""));
  add_input(*command, options.input, true);
  add_topology(*command, options.input);
  command->add_option("-o,--output", options.output, "write into a directory instead of stdout")->type_name("DIR");
  command->footer(
      "Targets:\n"
      "  frr         BGP unnumbered, for every switch and server\n"
      "  sonic       config_db.json of every switch\n"
      "  slurm       topology, nodes and their GPUs\n"
      "  kubernetes  labels, networks of the rails, addresses of pods, tenants\n"
      "  nccl        topology and environment of each kind of server\n"
      "  hosts       inventory, cable list and names, for people\n"
      "  prometheus  what to scrape, and alerts\n"
      "  grafana     a dashboard\n"
      "\n"
      "A directory per device, and one per target for what is of the whole cluster.\n"
      "Targets go into one DIR or several. A file that weft did not write there, or\n"
      "that was changed since, is left as it is and nothing is written.\n"
      "\n"
      "Examples:\n"
      "  weft render frr acp.weft.yaml -o out\n"
      "  weft render hosts acp.weft.yaml | less\n"
      "  weft render nccl acp.weft.yaml --set servers.nics=8 -o out --json");
}

}  // namespace weft::cli
