#pragma once
// Every error weft can make about what it was given: one list makes the enum, the titles,
// `weft explain` and the reference page.

#include <span>
#include <string_view>

namespace weft::spec {

enum class Severity { error, warning };

// X(name, code, title, explanation)
#define WEFT_COMPLAINTS(X)                                                                                         \
  X(cannot_read, "E0001", "a file cannot be read",                                                                 \
    "The path does not exist, is a directory, or its permissions forbid reading. A cluster file "                  \
    "is a regular file, by habit named something.weft.yaml; `weft init` writes one.")                              \
  X(too_large, "E0002", "the file is too large",                                                                   \
    "Cluster files and catalogs are limited to 1 MiB each. Counts and ranges (`count: 4096`, "                     \
    "`servers: 0..15`) say in one line what a list of machines says in thousands.")                                \
  X(not_text, "E0003", "the file is not text",                                                                     \
    "A cluster file is UTF-8 text. This one holds a zero byte or bytes that are not UTF-8, so it "                 \
    "is probably a binary file or in another encoding.")                                                           \
  X(yaml_syntax, "E0004", "this is not YAML",                                                                      \
    "The YAML parser stopped here. The usual causes: a tab in the indentation, a bracket or "                      \
    "quote that is never closed, a missing space after a colon, or a truncated file.")                             \
  X(too_deep, "E0005", "nested too deeply",                                                                        \
    "No cluster needs more than 32 levels of nesting; deeper files are refused before they cost "                  \
    "time or memory.")                                                                                             \
  X(too_many_nodes, "E0006", "the file expands to too much",                                                       \
    "Aliases (*name) repeat what an anchor (&name) marks. Here the repetition, or the file "                       \
    "itself, passes 100,000 values. A cluster is described by counts and kinds instead.")                          \
  X(several_documents, "E0007", "more than one YAML document",                                                     \
    "A file describes one cluster. A line of three dashes starts a second document; remove it or "                 \
    "put the second cluster into a file of its own.")                                                              \
  X(empty_file, "E0008", "there is nothing in the file",                                                           \
    "A cluster file needs at least `version`, `servers` and `fabric`. `weft init` writes a small "                 \
    "one with comments.")                                                                                          \
  X(no_file_here, "E0009", "which cluster file?",                                                                  \
    "Without a file name, weft takes the one *.weft.yaml in the current directory. There was "                     \
    "none, or more than one.")                                                                                     \
  X(bad_alias, "E0010", "an alias that points at itself or at nothing",                                            \
    "An alias (*name) must come after the complete value that the anchor (&name) marks.")                          \
  X(unknown_key, "E0101", "unknown key",                                                                           \
    "No such key exists at this place. `docs/reference/cluster-file.md` and `weft schema` list "                   \
    "all keys; a misspelt one is never silently ignored.")                                                         \
  X(duplicate_key, "E0102", "the key stands twice",                                                                \
    "YAML parsers differ on which of two equal keys wins, so weft accepts neither.")                               \
  X(wrong_type, "E0103", "a value of the wrong type",                                                              \
    "The key takes another type of value: a number where text stands, a mapping where a list "                     \
    "stands, and so on. The message says which.")                                                                  \
  X(missing_unit, "E0104", "a number without its unit",                                                            \
    "Physical quantities carry their unit, because 400 could mean Gb/s or GB/s and both have "                     \
    "cost somebody a month. Rates: bps kbps Mbps Gbps Tbps Pbps, the same as Gb/s, and in bytes "                  \
    "kB/s MB/s GB/s TB/s. Times: ps ns us ms s min h. Sizes: B kB MB GB TB PB and KiB MiB GiB TiB "                \
    "PiB. Lengths: mm cm m km. Power: mW W kW MW. Prices: $98.32/h. Packet rates: pps kpps Mpps "                  \
    "Gpps. Compute: GFLOPS TFLOPS PFLOPS.")                                                                        \
  X(unknown_unit, "E0105", "an unknown unit",                                                                      \
    "The number is followed by something that is not a unit of this kind of quantity. Units are "                  \
    "case-sensitive: Gbps is bits, GB/s is bytes; m is metres, ms is milliseconds.")                               \
  X(not_exact, "E0106", "not a whole number of the smallest unit",                                                 \
    "Quantities are exact integers inside weft: time in picoseconds, rates in bits per second, "                   \
    "sizes in bytes. A value such as 0.0005ns cannot be represented and is not rounded silently.")                 \
  X(out_of_range, "E0107", "a value out of range",                                                                 \
    "Every field has a range; the message names it. Counts start at 1 unless zero is meaningful.")                 \
  X(missing_key, "E0108", "a required key is missing",                                                             \
    "This key has no default that would be right for everybody, so it must be given.")                             \
  X(not_a_choice, "E0109", "not one of the choices", "The key takes one of a few words; the message lists them.")  \
  X(not_for_this_kind, "E0110", "a key that this kind does not have",                                              \
    "The key exists, but not for the `kind` chosen beside it, where it would be ignored.")                         \
  X(bad_range, "E0111", "not a list or range",                                                                     \
    "Indices are written as a number, a list, or ranges with both ends included: 3, [0, 4], "                      \
    "0..7, 0..3,8..11. Sizes: 1MiB, [1KiB, 1MiB], 8B..8GiB (doubling).")                                           \
  X(bad_set, "E0112", "--set cannot be applied",                                                                   \
    "--set takes path=value, where path walks keys and list positions from the top of the file: "                  \
    "--set fabric.spines=8, --set servers.0.count=64.")                                                            \
  X(bad_version, "E0113", "a version this weft does not know",                                                     \
    "`version: 1` is the only format so far. A newer file needs a newer weft.")                                    \
  X(empty_value, "E0114", "a key without a value",                                                                 \
    "Nothing stands after the colon. Give a value, or remove the key to get its default.")                         \
  X(unknown_kind, "E0201", "nothing of that name in the catalog",                                                  \
    "`weft catalog` lists every server, GPU, NIC, switch, link and cable that is known. To "                       \
    "describe your own, start from the nearest kind and override its fields in place, or add a "                   \
    "file to a directory given with --catalog.")                                                                   \
  X(reference_cycle, "E0202", "references that go round in a circle",                                              \
    "Catalog entries can build on others with `base`. Following them must come to an end.")                        \
  X(no_source, "E0203", "a catalog number without a source",                                                       \
    "Every number in a catalog says where it comes from, in a `sources` row that names its field, "                \
    "and in exactly one row that is used.")                                                                        \
  X(placement_mismatch, "E0301", "the block diagram does not fit together",                                        \
    "The placement lists of a server have one entry per GPU, NIC or PCIe switch, and each entry "                  \
    "names a part that exists. Without a list, parts are spread evenly in order.")                                 \
  X(domain_mismatch, "E0302", "a scale-up domain that is not whole",                                               \
    "A rack-scale domain (NVL72: 18 trays) is built of a fixed number of servers, and a torus has "                \
    "as many positions as chips. The count must fill whole domains.")                                              \
  X(too_many_gpus, "E0303", "more GPUs than weft can number",                                                      \
    "Identifiers are 32 bits wide; the limit is 16,777,216 GPUs, sixteen times the largest "                       \
    "cluster announced.")                                                                                          \
  X(same_name, "E0304", "two things with one name",                                                                \
    "Servers, switches and tenants are addressed by name, so names must differ.")                                  \
  X(port_budget, "E0401", "more ports than the switch has",                                                        \
    "The switches must carry what the fabric asks of them: every NIC, uplink and parallel link "                   \
    "takes a port, and slower links share a fast port only in the splits (breakouts) the switch "                  \
    "offers. The message names the count that would fit.")                                                         \
  X(oversubscription, "E0402", "an oversubscription that cannot be built",                                         \
    "Uplinks come in whole links, the same number to every switch above. The ratio asked for "                     \
    "would need a fraction of a link; the message names the nearest ratios that can be built.")                    \
  X(planes_mismatch, "E0403", "NIC ports that do not divide over the planes",                                      \
    "In a multi-plane fabric port i of every NIC goes to plane i, so the number of ports of a NIC "                \
    "must be a multiple of the number of planes.")                                                                 \
  X(no_nics, "E0404", "servers that cannot be connected",                                                          \
    "More than one server (or scale-up domain) needs NICs and a fabric between them.")                             \
  X(rails_differ, "E0405", "server groups with different rails",                                                   \
    "NIC i of every server goes to rail i, so all servers of a rail fabric have the same number "                  \
    "of NICs of the same rate.")                                                                                   \
  X(bad_dragonfly, "E0406", "a Dragonfly that does not close",                                                     \
    "Every group needs at least one link to every other group: groups - 1 must not exceed "                        \
    "routers_per_group x global_links.")                                                                           \
  X(bad_sites, "E0407", "sites that do not fit",                                                                   \
    "Several sites need `fabric.sites` for the links between them, and `fabric.sites` needs "                      \
    "servers on at least two sites.")                                                                              \
  X(contradiction, "E0408", "keys that contradict each other",                                                     \
    "Some counts follow from others. When all of them are given they must agree; leave one out "                   \
    "and weft computes it.")                                                                                       \
  X(bad_topo, "E0409", "a .topo file that cannot be used",                                                         \
    "uet-htsim's topology files give Nodes, Tiers (2 or 3) and Podsize, then below each line Tier n "              \
    "Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, Switch_Latency_ns, Bundle, "                  \
    "Oversubscribed, Queue_Down and Queue_Up of that tier. The counts must multiply out.")                         \
  X(bad_reference, "E0410", "no such part",                                                                        \
    "A GPU is written s0/gpu3 (server s0, GPU 3) or by its number in the whole cluster; a NIC "                    \
    "s0/nic1; a switch by the name `weft show links` prints, such as leaf0 or spine2.")                            \
  X(bad_matrix, "E0411", "a file of flows that cannot be used",                                                    \
    "uet-htsim's .cm files give Nodes, then flows (0->5 id 1 start 0 size 2000000) and triggers. GOAL schedules have " \
    "num_ranks N, then for each rank what it does and what that requires. Chakra's traces are a file of nodes a rank.") \
  X(not_simulated, "E0412", "this cannot be simulated yet",                                                        \
    "The cluster is fine, but the simulator does not cover this part of it. The message says "                     \
    "which; other commands work.")                                                                                 \
  X(srd_between_sites, "E0413", "SRD does not cross sites",                                                        \
    "SRD stays within one site (an availability zone): between sites there is plain IP only, and "                 \
    "no path on which its feedback would come back in microseconds.")                                              \
  X(efa_generations, "E0414", "EFA generations that do not talk to each other",                                    \
    "EFA traffic between P4d, P4de or DL1 instances and instances of other types is not supported: \"EFA "         \
    "limitations\" in the Amazon EC2 User Guide (Elastic Fabric Adapter). A job stays on one side, or the two "    \
    "talk by TCP.")                                                                                                \
  X(bad_layout, "E0415", "a training job that cannot be cut so",                                                     \
    "Heads, layers, experts, sequences and GPUs come in whole numbers: each degree of `parallel` must divide what "   \
    "it cuts, and all degrees together are the job's GPUs. The message names values that would work.")                \
  X(bad_xml, "E0701", "this is not XML",                                                                           \
    "A NCCL topology file is XML. The parser stopped here: a tag that is never closed, a file "                    \
    "that was cut off, or another kind of file.")                                                                  \
  X(bad_topology, "E0702", "a NCCL topology file that cannot be used",                                             \
    "NCCL writes its view of a server to the file that NCCL_TOPO_DUMP_FILE names: <system> with "                  \
    "<cpu>, <pci>, <gpu>, <nvlink>, <nic> and <net>. Attributes must be what NCCL could read.")                    \
  X(bad_smi_matrix, "E0703", "not the matrix of nvidia-smi topo -m",                                               \
    "`nvidia-smi topo -m` prints a row and a column for each GPU and NIC, with X, NV1, NV2, ..., "                 \
    "PIX, PXB, PHB, NODE or SYS where they meet. All of it is needed, with its heading.")                          \
  X(bad_benchmark, "E0704", "not an output of nccl-tests",                                                         \
    "nccl-tests prints a heading of lines that begin with #, then a row per size: size, count, "                   \
    "type, redop, root, and time, algbw, busbw, #wrong out of place and in place.")                                \
  X(bad_log, "E0705", "not a log of NCCL",                                                                         \
    "With NCCL_DEBUG=INFO, NCCL says which version it is, which network it uses and how ranks "                    \
    "are joined. No line of that kind was found.")                                                                 \
  X(not_for_nccl, "E0706", "a server that NCCL does not know",                                                     \
    "A NCCL topology file describes NVIDIA GPUs with NVLink and PCIe; there is none for other "                    \
    "accelerators.")                                                                                               \
  X(not_rendered, "E0801", "this cannot be rendered",                                                              \
    "The cluster is fine, but the target has no words for this part of it, or the addressing plan no "             \
    "room. The message says which; other targets may work.")                                                       \
  X(not_ours, "E0802", "files that weft did not write",                                                            \
    "`weft render -o` keeps in DIR/.weft-render what it wrote. A file that is not in that list, or was "           \
    "changed by hand since, is never overwritten or removed. Move it away and render again; what was "             \
    "changed by hand belongs into the cluster file, or behind what is rendered.")                                  \
  X(no_room, "E0803", "a job that does not fit",                                                                   \
    "`weft place` gives a job GPUs of servers that its tenant owns, or that nobody owns when no tenant "           \
    "is named. There are fewer of them than asked for, or too few with the NICs that the job wants. "              \
    "The message counts what there is.")                                                                           \
  X(unused_ports, "W0501", "switch ports left unused",                                                             \
    "More than half of the ports of a tier are free. That is fine when growth is planned; "                        \
    "otherwise a smaller switch or larger units would do.")                                                        \
  X(slow_slot, "W0502", "a NIC faster than its PCIe slot",                                                         \
    "The NIC can receive more than the link between it and its PCIe switch or CPU can carry away, "                \
    "so the rated speed cannot be reached.")                                                                       \
  X(far_nic, "W0503", "a GPU whose NIC is behind another root complex",                                            \
    "Its traffic passes through host memory instead of going from NIC to GPU directly (no "                        \
    "GPUDirect RDMA): two more copies and shared memory bandwidth. PXN helps on the sending side "                 \
    "only. `weft show server --as svg` draws which GPU is far from which NIC.")                                    \
  X(small_buffer, "W0504", "a buffer below one bandwidth-delay product",                                           \
    "A port's fair share of the switch buffer is smaller than rate x round-trip time over the "                    \
    "longest path, so one round trip's worth of packets does not fit when many ports congest.")                    \
  X(long_cable, "W0505", "a cable longer than its kind is sold",                                                   \
    "Copper reaches a few metres at 400G and above, active optical cables some tens. A longer "                    \
    "link needs another `medium` (`weft catalog cables`), such as fiber with transceivers.")                       \
  X(can_lock_up, "W0506", "a Dragonfly without loss that can lock up",                                             \
    "Ports that pause their neighbours, or wait for credits, can wait for each other in a circle. "                \
    "A Dragonfly is free of such circles where a packet takes another virtual channel behind every "               \
    "global link: 2 for minimal routes, 3 for detours, which `switching.virtual_channels` has by "                 \
    "default. With fewer, a run that locks up ends with the circle's names and exit code 1.")                      \
  X(small_window, "W0507", "a window below one bandwidth-delay product",                                           \
    "SRD keeps at most 255 packets in flight to one peer. Where a round trip holds more of them at "               \
    "the rate of a NIC, one flow alone cannot fill it; several peers at once can. Larger packets "                 \
    "(`transport.mtu`) help, and so does a shorter way.")                                                          \
  X(lossy_roce, "W0508", "RoCE on a fabric that loses packets",                                                    \
    "Behind a lost packet RoCE sends everything again (go-back-N), and where the last ones are lost it waits "     \
    "for a timeout of 67 ms: one full queue can cost a hundred times what the traffic takes. RoCE is run on "      \
    "fabrics that lose nothing (`switching.flow_control: pfc`, `credits` or `scheduled`), or on NICs that "        \
    "send only what is missing (`transport.rocev2.recovery: selective`).")                                         \
  X(small_headroom, "W0509", "headroom for PFC that is too small",                                                 \
    "What is on its way while a pause takes effect has to be held: rate x round trip of the cable (5 ns/m each "   \
    "way), two full frames, and what the peer still sends while it reacts (3840 bit times, IEEE 802.1Qbb, and "    \
    "the delay of its interface), for every port and lossless class. A buffer that does not hold it loses "        \
    "packets, or has nothing left to share.")                                                                      \
  X(not_used, "W0510", "a section that nothing uses yet",                                                          \
    "The section is read and checked, but no run depends on it, neither times nor bandwidths. A price of storage " \
    "is in sums of money.")                                                                                        \
  X(start_unit, "W0511", "start times of a connection matrix without a unit",                                      \
    "htsim's programs disagree: htsim_uec and htsim_swift take the number behind `start` as microseconds, "        \
    "htsim_ndp, htsim_roce and htsim_hpcc as picoseconds. weft takes microseconds. A unit behind the number "      \
    "leaves no doubt: start 5us, start 2500ps.")                                                                   \
  X(does_not_fit, "W0512", "a training job that needs more memory than a GPU has",                                   \
    "Parameters, gradients and optimizer states as the sharding cuts them, activations of the micro-batches that a "  \
    "stage keeps, and buffers of the framework (an estimate). The step is computed as if it fitted.")                 \
  X(short_failover, "W0513", "a failover before TCP sends again",                                                  \
    "A TCP flow whose last packets are lost sends them again after `transport.tcp.rto_min` of silence. Where "     \
    "`transport.failover`, or `give_up`, is not longer than that, flows fail, or move to another NIC, on a "       \
    "network without any fault.")                                                                                  \
  X(efa_apart, "W0514", "servers whose EFA generations do not talk to each other",                                 \
    "P4d, P4de and DL1 instances and instances of other types cannot reach each other by EFA (\"EFA limitations\" " \
    "in the Amazon EC2 User Guide), so that no job can span them. Runs within one of them work; a run over both is " \
    "refused (E0414).")                                                                                            \
  X(idle_key, "W0515", "a key of a training job that changes nothing",                                              \
    "Neither the step nor its memory would be another without the key: a schedule where there is one stage, "         \
    "`overlap.tensor` without tensor groups, `recompute: selective` where attention is fused (there is nothing "      \
    "inside it that was kept), `moe.imbalance` where `experts.capacity` says what experts get.")                      \
  X(packets_only, "W0516", "something that packets alone know",                                                    \
    "What a transport costs its host (`servers.host`), and how it sends and takes many packets at once, is "       \
    "simulated packet by packet. At flow and message level the run is as if the NIC were the transport.")          \
  X(foreign_links, "W0517", "a transport that its switches do not carry",                                          \
    "SRD, RoCEv2 and Ultra Ethernet are packets of Ethernet; an InfiniBand switch (`link_layer: infiniband`, as "  \
    "quantum-2 has) forwards InfiniBand's. Without `transport.kind` a fabric of such switches speaks InfiniBand, " \
    "over credits. What is written counts, as if the switches were Ethernet's of the same rate.")                  \
  X(beyond_ultracluster, "W0520", "more chips than an UltraCluster has",                                           \
    "AWS says of UltraCluster 2.0 that it has up to 20,000 GPUs and of 3.0 up to a million chips. "                \
    "What is more stands in another one, and EFA does not join the two at full bandwidth: plan the "               \
    "job for the parts, or take instances of a later UltraCluster.")                                               \
  X(not_nccl, "W0521", "collectives that NCCL does not run",                                                       \
    "On Trainium collectives are carried out by AWS's Neuron. Which algorithm it takes at which size and "         \
    "what a step costs it is not published. weft runs NCCL's algorithms with the constants of other GPUs "         \
    "over the links, NICs and latencies of this cluster: bandwidths of large sizes are bounded by those, "         \
    "names of algorithms and times of small sizes are a stand-in.")                                                \
  X(open_topology, "W0701", "a topology that leaves something open",                                               \
    "The file does not say all that weft needs to know about the server, and what is most likely "                 \
    "was taken. Files that clouds give to their virtual machines name places, not parts. --set "                   \
    "says what it really is.")                                                                                     \
  X(weak_link, "W0702", "a link that is weaker than its neighbours",                                               \
    "One GPU or NIC has fewer lanes, a lower PCIe generation or fewer NVLinks than the others of "                 \
    "its kind. It may have been trained down: everything that passes it is slower.")

enum class Error {
#define WEFT_X(name, code, title, text) name,
  WEFT_COMPLAINTS(WEFT_X)
#undef WEFT_X
};

struct ErrorInfo {
  std::string_view code;
  std::string_view title;
  std::string_view explanation;
  Severity severity() const { return code[0] == 'W' ? Severity::warning : Severity::error; }
};

std::span<const ErrorInfo> all_errors();
const ErrorInfo& info(Error error);
// By code, in any case ("e0107"); nullptr when there is none.
const ErrorInfo* find_error(std::string_view code);

}  // namespace weft::spec
