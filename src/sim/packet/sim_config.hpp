#pragma once
// What a packet simulation is to be like.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/choices.hpp"
#include "sim/packet/exact.hpp"
#include "transport/stack.hpp"

namespace weft::sim {

using model::Balance;

struct SimConfig {
  std::uint64_t seed = 1;
  transport::StackConfig stack;
  transport::Protocol protocol = transport::Protocol::srd;  // what carries messages, unless
  std::vector<transport::Protocol> streams;                 // they are of several streams: what carries each
  std::vector<transport::Op> verbs;                         // by stream, how: send, write or read; missing: send
  std::vector<bool> tagged;                                 // by stream: below a layer of messages; missing: not
  std::vector<std::uint8_t> lanes;                          // by stream: the stack that does; empty: all by the first
  std::vector<std::uint8_t> more_stacks;  // protocols of the second stack and those behind it, a bit each
  std::uint32_t header = 64;  // bytes: what a trimmed packet keeps, and what a switch that cuts through waits for
  std::uint32_t full_packet = 4150;  // bytes on the wire
  Balance balance = Balance::entropy;
  bool fifo = false;  // acknowledgements wait behind data, and nothing is trimmed
  bool trimming = true;
  bool cut_through = false;
  std::int64_t queue_bytes = 0;       // of one port; 0: one bandwidth-delay product
  std::uint32_t mark_from = 200'000;  // parts per million of the queue; equal to mark_to: a step
  std::uint32_t mark_to = 800'000;
  std::uint32_t mark_most = 1'000'000;  // parts per million of the packets marked just below mark_to
  Duration flowlet_gap;                 // of silence after which a flow may move
  Duration load_interval;               // between two looks at other switches' queues
  std::uint32_t pins = 1;               // queue pairs of a pair of hosts that are pinned one by one
  Duration fast_cnp;  // between the CNPs that a switch itself sends to one queue pair; 0: it sends none
  ExactConfig exact;
  Duration failover;  // of silence after which a part of a message goes by another NIC (failover.hpp); 0: never
  Duration give_up;   // from its first failure on for which a part is tried on other NICs
  bool in_time_order = false;  // effects between hosts without delay
  std::uint32_t threads = 1;
  Duration sample;                         // 0: no time series
  std::uint32_t most_samples = 4'000'000;  // of all links together, but at least 16 of each; 48 bytes each
  std::size_t most_captured = 10'000'000;  // packets of a shard; 56 bytes each

  transport::Protocol protocol_of(std::uint32_t stream) const { return streams.empty() ? protocol : streams[stream]; }
  transport::Op verb_of(std::uint32_t stream) const {
    return stream < verbs.size() ? verbs[stream] : transport::Op::send;
  }
  bool is_tagged(std::uint32_t stream) const { return stream < tagged.size() && tagged[stream]; }
  bool any_tagged() const { return std::find(tagged.begin(), tagged.end(), true) != tagged.end(); }
  std::uint8_t lane_of(std::uint32_t stream) const { return lanes.empty() ? std::uint8_t{0} : lanes[stream]; }
  std::uint32_t payload() const { return full_packet - header; }
  std::uint32_t packet_of(std::uint32_t stream) const {
    return streams.empty() ? full_packet : stack.packet_of(streams[stream]);
  }
  std::uint32_t header_of(std::uint32_t stream) const {
    return streams.empty() ? header : stack.header_of(streams[stream]);
  }
  std::uint32_t payload_of(std::uint32_t stream) const { return packet_of(stream) - header_of(stream); }
};

}  // namespace weft::sim
