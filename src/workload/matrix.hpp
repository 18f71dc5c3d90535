#pragma once
// uet-htsim's connection matrices (.cm): flows between nodes, started at a time or by a trigger.
//
//   Nodes 128 / Connections 3 / Triggers 1            (counts, checked)
//   0->5 id 1 start 0 size 2000000 send_done_trigger 1   (microseconds as htsim_uec has it; 0us or 0ps say it)
//   5->7 id 2 trigger 1 size 2000000
//   trigger id 1 oneshot                               (or multishot, or barrier count 4)
//   failure switch_type AGG switch_id 3 link_id 1      (also counted, as Failures 1)

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "spec/diagnostics.hpp"

namespace weft::workload {

inline constexpr std::uint32_t kNoTrigger = 0xFFFFFFFFu;

struct MatrixFlow {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint64_t bytes = 0;
  Duration start = {};                       // when no trigger starts it
  std::uint32_t started_by = kNoTrigger;     // index into triggers
  std::uint32_t when_sent = kNoTrigger;      // fired when the sender has the last acknowledgement
  std::uint32_t when_received = kNoTrigger;  // fired when the receiver has the last byte
};

struct MatrixTrigger {
  enum class Kind : std::uint8_t { oneshot, multishot, barrier };
  Kind kind = Kind::oneshot;
  std::uint32_t count = 1;            // barrier: how many must fire it
  std::vector<std::uint32_t> starts;  // flows
};

// A link that is down in both directions from the start, known to routing. Switches are counted over the
// whole tier, links over the uplinks of the switch. htsim's own loader takes all three types, its fat tree
// only AGG, and of a bundle it fails the first link.
struct MatrixFailure {
  enum class Switch : std::uint8_t { tor, agg, core };
  Switch type = Switch::agg;
  std::uint32_t switch_id = 0;
  std::uint32_t link_id = 0;
  spec::Place place;
};

struct Matrix {
  std::uint32_t nodes = 0;
  std::vector<MatrixFlow> flows;
  std::vector<MatrixTrigger> triggers;
  std::vector<MatrixFailure> failures;
  spec::Place bare_start = {};  // the first start that is not 0 and has no unit; nowhere: there is none
};

Matrix read_matrix(std::uint32_t source, spec::Diagnostics& diagnostics);

// What has fired. A oneshot starts all its flows once, a multishot the next of its flows each time, a
// barrier all of them when the last of `count` has come.
class Triggers {
 public:
  explicit Triggers(const Matrix& matrix);
  // The flows to start now.
  std::span<const std::uint32_t> fire(std::uint32_t trigger);

 private:
  const Matrix& matrix_;
  std::vector<std::uint32_t> fired_;
};

}  // namespace weft::workload
