// The field tables of `run`.
#include "model/cluster_file.hpp"

#include "model/field_limits.hpp"
#include "spec/fields.hpp"

namespace weft::spec {

using namespace weft::model;

template <>
const Table& table_of<CollectiveRun>() {
  static const Table table =
      TableOf<CollectiveRun>("collective", "One collective operation.")
          .field("gpus", &CollectiveRun::gpus,
                 {.text = "How many GPUs take part. Default: all.", .example = "64", .min = 1, .max = kMaxGpus})
          .field("per_server", &CollectiveRun::per_server,
                 {.text = "How many of each server's GPUs take part. Default: all.",
                  .example = "2",
                  .min = 1,
                  .max = kMaxGpus})
          .field("on", &CollectiveRun::on,
                 {.text = "Which GPUs take part, instead of how many, counted over all servers: `0..15,32..47`; "
                          "`0..63/8` is every "
                          "eighth, `0..255/128x8` eight of every 128; `s0..s15` are all of these servers.",
                  .example = "0..63/8"})
          .field("split", &CollectiveRun::split,
                 {.text = "Into groups that each do it, all at the same time: `/8` puts eight ranks that follow each "
                          "other into one, "
                          "`\"%8\"` every eighth. The slowest group is shown.",
                  .example = "/8"})
          .field("sizes", &CollectiveRun::sizes,
                 {.text = "Message sizes.",
                  .fallback = "8B..8GiB",
                  .example = "[1MiB, 1GiB]",
                  .min = 1,
                  .max = kMaxCollective})
          .field(
              "stack", &CollectiveRun::stack,
              {.text = "Network plugin, launch mode and, where it is not the newest, release of NCCL (`efa-pytorch`, "
                       "`ib-nccl2.26`), whose latencies and rules count. Default: by NIC.",
               .example = "ib"})
          .field("skew", &CollectiveRun::skew,
                 {.text = "Ranks come at times drawn by the seed, the last so much later than the first.",
                  .fallback = "0us",
                  .example = "20us",
                  .min = 0,
                  .max = kMaxSkew})
          .field("slow_ranks", &CollectiveRun::slow_ranks,
                 {.text = "Ranks, counted in each group, and what is left of their speed.", .example = "[3=50%]"})
          .field(
              "alongside", &CollectiveRun::alongside,
              {.text =
                   "At the same time as the collective before it, on the same fabric. Else one runs after the other.",
               .fallback = "false"})
          .places(&CollectiveRun::places)
          .build();
  return table;
}

template <>
const Table& table_of<TrafficRun>() {
  static const Table table =
      TableOf<TrafficRun>("traffic", "A stream of flows. Several in one list share the fabric at the same time.")
          .field("name", &TrafficRun::name,
                 {.text = "What it is called in the result.", .example = "storage", .required = true})
          .field("pattern", &TrafficRun::pattern,
                 {.text = "Who sends to whom, as `--pattern`.", .fallback = "permutation"})
          .field("size", &TrafficRun::size,
                 {.text = "Bytes of a flow.", .fallback = "2MB", .min = 1, .max = std::int64_t{1} << 40})
          .field("nodes", &TrafficRun::nodes,
                 {.text = "GPUs that take part. Default: all from `first` on.",
                  .example = "64",
                  .min = 2,
                  .max = kMaxGpus})
          .field("first", &TrafficRun::first,
                 {.text = "The first of them.", .fallback = "0", .min = 0, .max = kMaxGpus})
          .field("window", &TrafficRun::window,
                 {.text = "all-to-all: flows of a GPU at a time; 0: all.", .fallback = "8", .min = 0, .max = 64})
          .field("load", &TrafficRun::load,
                 {.text = "Open loop: what a GPU sends, of its line rate; headers come on top.",
                  .fallback = "50%",
                  .min = 1000,
                  .max = 1'000'000})
          .field("sizes", &TrafficRun::sizes,
                 {.text = "Open loop: of flows, `size` on average, or as published.", .fallback = "fixed"})
          .field("duration", &TrafficRun::duration,
                 {.text = "Open loop: how long flows begin.", .fallback = "1ms", .min = 1, .max = kMaxTime})
          .field("arrivals", &TrafficRun::arrivals,
                 {.text = "When flows begin. `at-once`: at the start, or when the window has room; `paced` and "
                          "`poisson` are open loop: at equal or random "
                          "intervals, whether or not earlier ones are done, to the pattern's targets in turn. The "
                          "pattern poisson always is.",
                  .fallback = "at-once"})
          .field("verb", &TrafficRun::verb,
                 {.text = "What SRD is asked to do. `write`: as `send`, without telling the receiver; `read`: the "
                          "sender of the pattern asks, and the bytes "
                          "come from its target; `tagged`: messages with tags, as programs have them above SRD.",
                  .fallback = "send"})
          .field("transport", &TrafficRun::transport,
                 {.text = "Protocol. Default: as `transport.kind`.", .example = "tcp"})
          .field("service", &TrafficRun::service,
                 {.text = "One of `switching.services`. Default: the first.", .example = "storage"})
          .places(&TrafficRun::places)
          .build();
  return table;
}

template <>
const Table& table_of<TraceRun>() {
  static const Table table =
      TableOf<TraceRun>("trace",
                        "What other programs do, from their own files. Paths begin at the folder of the cluster "
                        "file, those of `--set` at the current one. It is the only item of `run:`.")
          .field("goal", &TraceRun::goal,
                 {.text = "A GOAL schedule of LogGOPSim or ATLAHS, as text or binary.", .example = "ring.goal"})
          .field("chakra", &TraceRun::chakra,
                 {.text = "Chakra's execution traces, a file for each rank: PREFIX.0.et, PREFIX.1.et and so on.",
                  .example = "traces/step"})
          .field("groups", &TraceRun::groups,
                 {.text = "Ranks of the groups that Chakra's nodes name, as ASTRA-sim's communicator file has them. "
                          "Default: the ranks that name a group.",
                  .example = "groups.json"})
          .places(&TraceRun::places)
          .build();
  return table;
}

template <>
const Table& table_of<RunSpec>() {
  static const Table table =
      TableOf<RunSpec>("run", "One piece of work, which `weft sim` carries out.")
          .field("traffic", &RunSpec::traffic, {.text = "Flows of a pattern."})
          .field("trace", &RunSpec::trace, {.text = "A schedule or traces of another program."})
          .field("all_reduce", &RunSpec::all_reduce, {.text = "Sum over all, result to all."})
          .field("all_gather", &RunSpec::all_gather, {.text = "Everybody's part to everybody."})
          .field("reduce_scatter", &RunSpec::reduce_scatter, {.text = "Sum over all, a part each."})
          .field("broadcast", &RunSpec::broadcast, {.text = "One to all."})
          .field("reduce", &RunSpec::reduce, {.text = "All to one, summed."})
          .field("all_to_all", &RunSpec::all_to_all, {.text = "A different part to each."})
          .field("send_recv", &RunSpec::send_recv, {.text = "Neighbour to neighbour."})
          .field("training", &RunSpec::training, {.text = "A step of training a language model."})
          .build();
  return table;
}

}  // namespace weft::spec
