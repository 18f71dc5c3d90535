#pragma once
// What the fuzz target of connection matrices and the replay of its corpus do with one input.

#include <string>
#include <utility>
#include <vector>

#include "fuzz_one.hpp"
#include "workload/matrix.hpp"
#include "workload/matrix_schedule.hpp"

namespace weft::fuzz {

inline void check_matrix(const workload::Matrix& matrix) {
  const auto known = [&](std::uint32_t trigger) {
    return trigger == workload::kNoTrigger || trigger < matrix.triggers.size();
  };
  for (const workload::MatrixFlow& flow : matrix.flows) {
    require(flow.source < matrix.nodes && flow.destination < matrix.nodes, "flows are between nodes that exist");
    require(flow.source != flow.destination, "nobody sends to itself");
    require(flow.start >= Duration(0), "time begins at 0");
    require(known(flow.started_by) && known(flow.when_sent) && known(flow.when_received),
            "triggers that are used exist");
  }
  for (const workload::MatrixTrigger& trigger : matrix.triggers)
    for (const std::uint32_t flow : trigger.starts)
      require(flow < matrix.flows.size(), "a trigger starts flows that exist");
}

// Carries the schedule out as if every send were done at once. Whatever triggers do, no flow starts twice.
inline void carry_out(const workload::Matrix& matrix) {
  workload::MatrixSchedule schedule(matrix);
  std::size_t started = 0;
  std::vector<schedule::Instruction> sends;
  std::vector<schedule::Start> begin;
  const auto finish_all = [&] {
    while (!sends.empty()) {
      require(++started <= matrix.flows.size(), "a flow starts once");
      const schedule::Instruction send = sends.back();
      sends.pop_back();
      begin.clear();
      if (send.when_sent != schedule::kNoSignal) schedule.fire(send.when_sent, begin);
      if (send.when_received != schedule::kNoSignal) schedule.fire(send.when_received, begin);
      for (const schedule::Start& each : begin) sends.push_back(each.send);
    }
  };
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    schedule::Instruction next;
    while (schedule.lanes(rank) > 0 && schedule.next(rank, 0, next)) {
      if (next.kind == schedule::Instruction::Kind::send) sends.push_back(next);
      finish_all();
    }
  }
}

inline void load_matrix(std::string text) {
  spec::Diagnostics diagnostics;
  const std::uint32_t source = diagnostics.sources().add("fuzz.cm", std::move(text));
  const workload::Matrix matrix = workload::read_matrix(source, diagnostics);
  check_errors(diagnostics, !diagnostics.has_errors());
  if (diagnostics.has_errors()) return;
  check_matrix(matrix);
  carry_out(matrix);
}

}  // namespace weft::fuzz
