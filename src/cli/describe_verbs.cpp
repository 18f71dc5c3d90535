// The command line of verbs that describe a cluster.

#include <fmt/format.h>

#include "cli/shared_options.hpp"
#include "cli/verbs.hpp"
#include "model/catalog.hpp"

namespace weft::cli {

void add_check(CLI::App& app, Verbs& verbs) {
  CLI::App* command = app.add_subcommand("check", "read a cluster file, say what is wrong or what it is");
  add_input(*command, verbs.check, true);
  add_topology(*command, verbs.check);
  command->footer(
      "Examples:\n"
      "  weft check\n"
      "  weft check acp.weft.yaml --set servers.nics=8\n"
      "  weft check fat_tree_1024.topo --json\n"
      "  weft check --topo system.xml --nodes 4");
}

void add_show(CLI::App& app, Verbs& verbs) {
  CLI::App* command = app.add_subcommand("show", "list or draw the parts of a cluster");
  add_input(*command, verbs.show.input, false);
  add_topology(*command, verbs.show.input);
  add_choice(*command, "what", verbs.show.what, "servers gpus nics links paths fabric server; bom: to buy")->required();
  command->add_option("names", verbs.show_rest, "paths: two GPUs; server: a group; a cluster file");
  add_choice(*command, "--as", verbs.show.as, "table, csv, json, svg, dot or nccl-xml");
  command->add_option("-o,--output", verbs.show.output, "write to a file instead of stdout")->type_name("FILE");
  command->add_option("--limit", verbs.show.limit, "rows; 0 shows all. Default: 40 of a table, all of --json")
      ->option_text("N")
      ->check(CLI::Range(0, 1'000'000'000).description(""));
  command->add_option("--fail", verbs.show.fail, "paths: route around leaf0, s0/nic1 or leaf0:spine1")
      ->type_name("PART")
      ->take_all()
      ->allow_extra_args(false);
  command->footer(
      "Examples:\n"
      "  weft show gpus acp.weft.yaml\n"
      "  weft show paths s0/gpu0 s17/gpu3 acp.weft.yaml --fail spine0\n"
      "  weft show bom --as csv -o bom.csv acp.weft.yaml\n"
      "  weft show fabric --as svg -o fabric.svg acp.weft.yaml\n"
      "  weft show server --as svg -o server.svg acp.weft.yaml --set servers.nics=2\n"
      "  weft show server --as nccl-xml -o system.xml acp.weft.yaml");
}

void add_init(CLI::App& app, Verbs& verbs) {
  CLI::App* init = app.add_subcommand("init", "write a small cluster file that works, with comments");
  init->add_option("file", verbs.init.file, "name of the new file")->capture_default_str();
  init->add_option("--kind", verbs.init.kind, "shape to start from; see below")->capture_default_str();
  init->footer(fmt::format("Kinds:\n  {}\n\nExamples:\n  weft init\n  weft init --kind rail-only mine.weft.yaml",
                           fmt::join(app::init_kinds(), "\n  ")));
}

void add_catalog(CLI::App& app, Verbs& verbs) {
  CLI::App* catalog = app.add_subcommand("catalog", "list the built-in kinds, or show one with its sources");
  catalog->add_option("name", verbs.catalog.name, "an entry or a section; default: everything");
  catalog->add_option("--catalog", verbs.catalog.input.catalog, "directory with more catalog files")->type_name("DIR");
  catalog->add_flag("--json", verbs.catalog.input.json, "machine-readable output");
  catalog->footer(fmt::format("Sections:\n  {}\n\nExamples:\n  weft catalog servers\n  weft catalog p5.48xlarge",
                              fmt::join(model::Catalog::sections(), " ")));
}

void add_schema(CLI::App& app, Verbs& verbs) {
  CLI::App* schema = app.add_subcommand("schema", "print the JSON Schema of the cluster file");
  schema->add_flag_callback(
      "--reference", [&verbs] { verbs.view = app::SchemaView::reference; }, "the reference page (Markdown) instead");
  schema->add_flag_callback(
      "--errors", [&verbs] { verbs.view = app::SchemaView::errors; }, "the page of all errors and warnings instead");
  schema->footer("Example:\n  weft schema > cluster.schema.json     (for editors that check YAML)");
}

}  // namespace weft::cli
