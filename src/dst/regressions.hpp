#pragma once
// Seeds that once failed, with what they found. A change of what seeds draw makes them ordinary ones.

#include <array>
#include <cstdint>
#include <optional>

#include "dst/scenario.hpp"

namespace weft::dst {

struct Regression {
  std::optional<Protocol> transport;  // nothing: messages
  std::uint64_t seed;
};

inline constexpr std::array<Regression, 41> kRegressions = {{
    {Protocol::srd, 24},       // a late copy meant for a former life failed the stream that had begun since
    {Protocol::srd, 1010},     // the only room for messages went to one behind a closed window
    {Protocol::srd, 1506},     // a packet that vanished among others that were refused was never missed
    {Protocol::srd, 2461},     // as 1010
    {Protocol::srd, 4916},     // two peers' answers waited behind each other's reads
    {Protocol::srd, 3677},     // answers a little quicker than the least round trip so far were taken for late ones
    {Protocol::srd, 19148},    // a read failed while its peer was sending other things
    {Protocol::srd, 3013606},  // the world's own demand: a late word told of a second life, and a third was there
    {Protocol::srd, 9010313},  // the last wait was half of give_up: a peer back by then was given up, and not asked
    {Protocol::tcp, 100097},   // a connection given up in silence handed down whom it had known, a process since gone
    {Protocol::tcp, 100430},   // as 100097
    {Protocol::tcp, 100745},   // as 100097, but whom it had known had sent a reset and restarted since
    {Protocol::tcp, 100819},   // as 100097
    {Protocol::tcp, 101382},   // as 100097
    {Protocol::tcp, 102163},   // as 100097
    {Protocol::tcp, 102392},   // as 100097
    {Protocol::tcp, 102763},   // as 100097
    {Protocol::tcp, 102901},   // as 100097
    {Protocol::tcp, 103126},   // as 100097
    {Protocol::tcp, 103450},   // as 100097
    {Protocol::tcp, 103900},   // as 100097
    {Protocol::tcp, 200594},   // every acknowledgement was delayed: the window held fewer segments than it waited for
    {Protocol::tcp, 201134},   // as 200594
    {Protocol::tcp, 202018},   // a late word of an old process to one connection, of whose successor another knew
    {Protocol::tcp, 218390},   // as 200594
    {Protocol::tcp, 219373},   // as 200594
    {Protocol::tcp, 219550},   // as 200594
    {Protocol::tcp, 770216},   // as 100097, of two connections: the idle one knew the same process
    {Protocol::tcp, 770266},   // as 100097
    {Protocol::tcp, 3055663},  // after a jump of the clock the timeout was longer than give_up
    {Protocol::uet, 211212},   // as 100097, with a stream
    {Protocol::tcp_over_srd, 200179},   // a patience that had grown beyond give_up asked too late
    {Protocol::tcp_over_srd, 202182},   // as 200179
    {Protocol::tcp_over_srd, 212608},   // as 200179
    {Protocol::tcp_over_srd, 217527},   // as 200179
    {Protocol::tcp_over_srd, 3030215},  // packets beyond a gap counted for others when farther ones came
    {Protocol::tcp_over_srd, 3078529},  // after a jump of the clock each packet counted as overtaken when it was sent
    {Protocol::tcp_over_srd, 3013606},  // as 3013606 of SRD
    {Protocol::tcp_over_srd, 9010313},  // as 9010313 of SRD
    {std::nullopt, 2452},               // a read to be tried again stood behind those that waited for its end
    {std::nullopt, 3042643},  // the test's own receives went to messages of the lost, and none was left for the last
}};

}  // namespace weft::dst
