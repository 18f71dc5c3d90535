// The field tables of `switching` and `faults`.
#include "model/cluster_file.hpp"

#include "model/field_limits.hpp"
#include "spec/fields.hpp"

namespace weft::spec {

using namespace weft::model;

template <>
const Table& table_of<ServiceSpec>() {
  static const Table table =
      TableOf<ServiceSpec>("services", "A class of traffic that has queues of its own at every port.")
          .field("name", &ServiceSpec::name, {.text = "What streams call it.", .example = "storage", .required = true})
          .field("weight", &ServiceSpec::weight,
                 {.text = "Its part of a port beside other weights (ETS, 802.1Qaz). Default: served before all that "
                          "have weights, in the order of the list.",
                  .example = "3",
                  .min = 1,
                  .max = 100})
          .field("lossless", &ServiceSpec::lossless, {.text = "`flow_control` is for it.", .fallback = "false"})
          .build();
  return table;
}

template <>
const Table& table_of<SwitchingSpec>() {
  static const Table table =
      TableOf<SwitchingSpec>("switching", "What switches do with packets.")
          .field("forwarding", &SwitchingSpec::forwarding,
                 {.text = "When a packet is sent on: as soon as its header is in, or when all of it is. Default: "
                          "cut-through; store-and-forward for a .topo file, as htsim.",
                  .example = "cut-through"})
          .field(
              "classes", &SwitchingSpec::classes,
              {.text = "`two`: acknowledgements and trimmed headers go before data; `one`: first come, first served.",
               .fallback = "two"})
          .field("services", &SwitchingSpec::services,
                 {.text = "Classes of data beside each other, up to 7. Default: one for all. More than one needs exact "
                          "ports."})
          .field("queue", &SwitchingSpec::queue,
                 {.text =
                      "Bytes of data that may wait at a port. Default: the rate times the longest unloaded round trip.",
                  .example = "512KiB",
                  .min = 1024,
                  .max = kMaxQueue})
          .field("mark_from", &SwitchingSpec::mark_from,
                 {.text = "Part of the queue from which on packets are marked (ECN), at random and ever more.",
                  .fallback = "20%",
                  .min = 0,
                  .max = 1'000'000})
          .field("mark_to", &SwitchingSpec::mark_to,
                 {.text = "Part of the queue from which on all are. Equal to mark_from: a step.",
                  .fallback = "80%",
                  .min = 0,
                  .max = 1'000'000})
          .field("mark_most", &SwitchingSpec::mark_most,
                 {.text = "Of the packets, marked just below mark_to (DCQCN's Pmax: 1%).",
                  .fallback = "100%",
                  .min = 1,
                  .max = 1'000'000})
          .field("full", &SwitchingSpec::full,
                 {.text = "What becomes of a packet that finds the queue full: only its header goes on, before data, "
                          "or nothing.",
                  .fallback = "trim"})
          .field("ports", &SwitchingSpec::ports,
                 {.text = "`computed`: when a packet leaves is known when it comes, which is fast; `exact`: real "
                          "queues in a shared buffer. "
                          "`auto`: exact where something needs it.",
                  .fallback = "auto"})
          .field("flow_control", &SwitchingSpec::flow_control,
                 {.text = "What keeps data from being lost: nothing, pauses (PFC, 802.1Qbb), credits (InfiniBand), or "
                          "a scheduled fabric: "
                          "leaves ask the port that a packet is for and send cells over all uplinks "
                          "(`transport.balance` says nothing then). "
                          "Needs exact ports. Where switches are InfiniBand's: credits.",
                  .fallback = "none"})
          .field("virtual_channels", &SwitchingSpec::virtual_channels,
                 {.text = "Of a lossless service in a Dragonfly: a packet takes the next one behind every global link, "
                          "and no ports can wait for each other in a circle. Each is one of a port's 8 classes (PFC: "
                          "priorities), with headroom or credits of its own. Default: what the routing needs, 2 for "
                          "minimal and 3 for detours.",
                  .example = "3",
                  .min = 1,
                  .max = 7})
          .field("buffer", &SwitchingSpec::buffer,
                 {.text = "Of one switch, for all its ports. Default: as the catalog says; 64MiB for a .topo file.",
                  .example = "64MiB",
                  .min = 65536,
                  .max = kMaxQueue})
          .field("alpha", &SwitchingSpec::alpha,
                 {.text = "Of the free buffer, that one queue may take (dynamic threshold, Choudhury and Hahne 1998).",
                  .fallback = "100%",
                  .min = 10'000,
                  .max = 16'000'000})
          .field("headroom_for", &SwitchingSpec::headroom_for,
                 {.text = "PFC: the length of cable that headroom is meant for, whatever hangs there. Default: the "
                          "cables as they are.",
                  .example = "5m",
                  .min = 1,
                  .max = 100'000'000})
          .field("reaction", &SwitchingSpec::reaction,
                 {.text = "PFC: from the arrival of a pause until it takes effect; an estimate (802.3 allows 394 "
                          "quanta at 100 Gb/s: 2 us).",
                  .fallback = "300ns",
                  .min = 0,
                  .max = kMaxTime})
          .field("nic_buffer", &SwitchingSpec::nic_buffer,
                 {.text = "That a NIC has for what its host has not taken yet; an estimate.",
                  .fallback = "2MiB",
                  .min = 65536,
                  .max = kMaxQueue})
          .field("watchdog", &SwitchingSpec::watchdog,
                 {.text = "PFC: a queue that was paused for so long is thrown away. Default: never; SONiC's is 200 ms.",
                  .example = "200ms",
                  .min = 1,
                  .max = kMaxTime})
          .field("flowlet_gap", &SwitchingSpec::flowlet_gap,
                 {.text = "Silence after which a flow may take another port (Junos: inactivity-interval).",
                  .fallback = "16us",
                  .min = 1,
                  .max = kMaxTime})
          .field("load_interval", &SwitchingSpec::load_interval,
                 {.text = "Between two reports of other switches' queues (flowlet-global); an estimate.",
                  .fallback = "10us",
                  .min = 1,
                  .max = kMaxTime})
          .build();
  return table;
}

template <>
const Table& table_of<FaultSpec>() {
  static const Table table =
      TableOf<FaultSpec>("faults", "Something that breaks during a run.")
          .field(
              "part", &FaultSpec::part,
              {.text = "A switch, a NIC, or the links between two parts.", .example = "leaf0:spine1", .required = true})
          .field(
              "kind", &FaultSpec::kind,
              {.text = "`down`: packets on the wire are lost, and the switches at its ends notice and use other ports, "
                       "from the start and for good all of a tree's routing knows; "
                       "`blackhole`: lost without anybody noticing; `flapping`: down again and again; `lossy` and "
                       "`corrupting`: some packets are; "
                       "`slow`: at a part of its rate; `slow-receiver`: a host takes what its NIC receives at a part "
                       "of the rate (exact ports); `host-pause`: the program that is a NIC's transport stands still; "
                       "`clock-jump`: its clock goes ahead by `for`.",
               .fallback = "down"})
          .field("at", &FaultSpec::at, {.text = "When it begins.", .fallback = "0us", .min = 0, .max = kMaxTime})
          .field(
              "for", &FaultSpec::lasts,
              {.text = "How long; of a flapping part, each time; of a clock, how far. Default: to the end of the run.",
               .example = "50us",
               .min = 1,
               .max = kMaxTime})
          .field("share", &FaultSpec::share,
                 {.text = "Lossy, corrupting: of the packets; slow, slow-receiver: of the rate that is left.",
                  .example = "0.1%",
                  .min = 1,
                  .max = 1'000'000})
          .field("every", &FaultSpec::every,
                 {.text = "Flapping: from one time down to the next.", .example = "200us", .min = 1, .max = kMaxTime})
          .build();
  return table;
}

}  // namespace weft::spec
