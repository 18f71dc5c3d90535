#pragma once
// One function per verb. Each returns the exit code.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/input_options.hpp"
#include "app/sim/sim_options.hpp"
#include "base/names.hpp"

namespace weft::app {

int check(const InputOptions& input, Console& console);

enum class Shown { servers, gpus, nics, links, paths, bom, fabric, server };
constexpr auto names_of(Shown) {
  using enum Shown;
  return std::to_array<EnumName<Shown>>({{servers, "servers"},
                                         {gpus, "gpus"},
                                         {nics, "nics"},
                                         {links, "links"},
                                         {paths, "paths"},
                                         {bom, "bom"},
                                         {fabric, "fabric"},
                                         {server, "server"}});
}
enum class ShownAs { table, csv, json, svg, dot, nccl_xml };
constexpr auto names_of(ShownAs) {
  using enum ShownAs;
  return std::to_array<EnumName<ShownAs>>(
      {{table, "table"}, {csv, "csv"}, {json, "json"}, {svg, "svg"}, {dot, "dot"}, {nccl_xml, "nccl-xml"}});
}
struct ShowOptions {
  InputOptions input;
  Shown what = Shown::servers;
  std::vector<std::string> names;  // paths: two GPUs; server: a group
  ShownAs as = ShownAs::table;
  std::string output;                     // a file instead of stdout
  std::optional<std::size_t> limit = {};  // rows; 0: all. Default: 40 of a table, all records
  std::vector<std::string> fail;          // switches, NICs or links (a:b) to route around
};
int show(const ShowOptions& options, Console& console);

struct SimOptions {
  InputOptions input;
  WorkOptions work;
  RunOptions run;
  SimOutputOptions output;
  std::string limit;        // time=10ms,events=1e9,memory=4GiB,wall=60s
  std::uint32_t seeds = 1;  // runs, with seeds from that of `run` on
};
int sim(const SimOptions& options, Console& console);
std::vector<std::string> collective_names();
std::vector<std::string> stack_names();
std::vector<std::string> algorithm_names();

struct CompareOptions {
  std::vector<std::string> files;  // empty: the one of the current directory
  InputOptions input;              // what all of them have in common; its file is not used
  std::vector<std::string> vary;   // transport.paths=1,64: a variant for each value
  WorkOptions work;
  RunOptions run;
  std::string limit;
  std::uint32_t seeds = 1;
  std::string csv;
  std::optional<std::size_t> links;   // the busiest of each variant are shown; 0: all
  std::vector<std::string> measured;  // files with records of `weft run client --json`
};
int compare(const CompareOptions& options, Console& console);

struct ValidateOptions {
  std::string directory = {};  // empty: the tables that come with weft
  bool rows = false;           // every row beside the summary
  bool leave_one_out = false;
  bool page = false;      // as docs/validation.md
  std::string plots;      // a directory for a picture per table
  bool training = false;  // steps of training instead: the folder "training" in it
  std::string refit;      // fitted, measured or all: constants that are fitted to these tables, and shown
  bool json = false;
};
int validate(const ValidateOptions& options, Console& console);
int validate_training(const ValidateOptions& options, Console& console);
std::string tables_folder(const ValidateOptions& options);
int no_tables(const std::string& directory, bool json, Console& console);

struct WhyOptions {
  InputOptions input;    // `nodes` 0: what the files say
  std::string smi;       // nvidia-smi's matrix
  std::string measured;  // nccl-tests' output, or a table as `validate` reads it
  std::vector<std::string> logs;
  std::vector<std::string> environment;  // NCCL_ALGO=Ring
  std::vector<std::string> busbw;        // 1GiB=216GB/s
  std::vector<std::string> algbw;
  std::vector<std::string> average;  // 8B..1GiB=6GB/s
  std::string expect;                // busbw that somebody hoped for
  std::size_t table = 0;             // of several, from 1; 0: the slowest
  std::uint32_t gpus = 0;
  CollectiveOptions collective;
  std::string size;     // without a measurement: of the collective that is explained; empty: the largest of the file's
  bool fast = false;    // likewise: the network as flows and not as packets
  std::string profile;  // of PyTorch, of a step of training

  bool is_about_a_measurement() const;
};
int why(const WhyOptions& options, Console& console);
// Why a measured collective is slow; where the time of a simulated one goes.
int why_slow(const WhyOptions& options, Console& console);
int why_run(const WhyOptions& options, Console& console);

struct PlanCommandOptions {
  InputOptions input;
  CollectiveOptions collective;
  std::uint32_t gpus = 0;
  std::string sizes;
  bool bounds_only = false;            // nothing is simulated
  bool training = false;               // layouts of the file's training job instead
  std::size_t best = 10;               // layouts shown
  std::optional<std::size_t> confirm;  // of them, so many also flow by flow; nothing: three, where that takes seconds
  std::string best_by = "time";
  std::vector<std::string> over;  // servers.kind=p5.48xlarge,p5en.48xlarge: the best layout at each point
};
int plan(const PlanCommandOptions& options, Console& console);

struct PlotOptions {
  std::vector<std::string> files;  // records of `sim --json`, or tables of nccl-tests; NAME=FILE
  std::string output;              // empty: stdout
  std::string title;
  bool json = false;  // the points instead
};
int plot(const PlotOptions& options, Console& console);

struct SweepOptions {
  InputOptions input;
  std::vector<std::string> over;  // fabric.spines=2,4: every value with every value of the others
  WorkOptions work;
  RunOptions run;  // `threads`: runs at a time, 0: one per core
  std::string limit;
  std::uint32_t seeds = 1;
  std::string out;                   // a file of finished runs, which are not run again
  std::string csv;                   // a file
  std::string plot;                  // likewise, of training: where the time goes at each point, as SVG
  std::optional<std::size_t> links;  // the busiest of each point are shown; 0: all
};
int sweep(const SweepOptions& options, Console& console);

struct DstOptions {
  std::string transport = "all";
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 500;
  bool canary = false;  // plant a bug that must be found
  bool verbose = false;
  bool json = false;
};
int dst(const DstOptions& options, Console& console);
std::vector<std::string> dst_transports();  // that it tests, by name

struct RenderOptions {
  InputOptions input;
  std::string target;  // frr, sonic, ...
  std::string output;  // a directory; empty: stdout
};
int render(const RenderOptions& options, Console& console);
std::vector<std::string> render_targets();

struct PlaceOptions {
  InputOptions input;
  std::uint32_t gpus = 0;
  std::string tenant;       // empty: servers that nobody owns
  double nics_per_gpu = 0;  // at least; 0: however few
};
int place(const PlaceOptions& options, Console& console);

struct RunVerbOptions {
  std::string role;                // server, client or all-reduce
  std::vector<std::string> hosts;  // client: of the server; server: the address to listen at; else of all ranks
  std::string pattern = "stream";  // stream or requests
  std::string size;                // of a message; empty: 64 KiB, or 64 B of a request
  std::string window;              // given to the transport and not acknowledged
  std::string rate;                // offered; empty: as fast as it goes
  std::string duration;
  std::uint64_t messages = 0;         // of each endpoint; 0: as many as the duration lets
  std::uint32_t endpoints = 1;        // that send at the same time
  std::uint32_t paths = 64;           // source ports
  std::uint32_t datagram = 0;         // longest; 0: found
  double start_at = 0;                // seconds since 1970; 0: at once
  std::string with = "srd";           // srd, tcp or mptcp
  bool per_path = false;              // a table of all paths, and not only of those that are ill
  bool sweep_paths = false;           // probes each path instead of sending messages
  std::string key;                    // a file with the job's key; empty: none
  std::vector<std::string> nics;      // addresses of this machine that are used together; empty: as routes say
  std::string metrics;                // a file that is written anew each second, for Prometheus
  std::optional<std::uint32_t> rank;  // of an all-reduce; nothing: the only host whose address this machine has
  std::uint32_t times = 20;           // that it is timed
  std::vector<std::string> given;     // options that stand on the command line
  bool json = false;
};
int run(const RunVerbOptions& options, Console& console);

struct DoctorOptions {
  std::uint16_t port = 7791;  // that weft run server listens at
  bool json = false;
};
int doctor(const DoctorOptions& options, Console& console);

struct ReportOptions {
  InputOptions input;
  std::string output;                    // FILE.html, or a directory; empty: NAME-report.html here
  std::vector<std::string> collectives;  // empty: all_reduce and all_to_all
  std::string sizes;                     // of them; empty: by the number of GPUs
  std::uint32_t gpus = 0;                // that take part in them; 0: all
  std::vector<std::string> faults;       // to try; empty: what one would try first
  std::vector<std::string> with;         // clusters to compare it with
  std::vector<std::string> vary;         // variants of it
  std::string limit = "wall=60s";        // of each run
};
// Runs other verbs as the command line does: `front_door` is that.
int write_report(const ReportOptions& options,
                 const std::function<int(const std::vector<std::string>&, Console&)>& front_door, Console& console);

struct CatalogOptions {
  InputOptions input;
  std::string name;  // an entry, a section, or nothing for everything
};
int catalog(const CatalogOptions& options, Console& console);

struct InitOptions {
  std::string kind = "rail-optimized";
  std::string file = "cluster.weft.yaml";
};
int init(const InitOptions& options, Console& console);
const std::vector<std::string>& init_kinds();
std::string init_text(const std::string& kind);

enum class SchemaView { json_schema, reference, errors };
int schema(SchemaView view, Console& console);
int explain(const std::string& code, bool json, Console& console);
int version(bool json, Console& console);

}  // namespace weft::app
