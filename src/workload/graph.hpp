#pragma once
// Work of other programs as a graph: what every rank does, and what must be over, or begun, before it does it. GOAL
// schedules (goal.hpp) and Chakra's execution traces (chakra.hpp) become one.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "spec/diagnostics.hpp"

namespace weft::workload {

inline constexpr std::uint32_t kMostGraphRanks = std::uint32_t{1} << 20;
inline constexpr std::size_t kMostTasks = std::size_t{1} << 24;  // of all ranks, and as many needs
inline constexpr std::uint64_t kMostTaskBytes = std::uint64_t{1} << 40;
inline constexpr Duration kMostTaskTime{86'400'000'000'000'000};  // a day

// What ranks of a group do together.
enum class Together : std::uint8_t { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all };

struct Task {
  enum class Kind : std::uint8_t { compute, copy, send, recv, together };
  // A processor does one computation at a time, whoever is ready first; beside it others go on.
  static constexpr std::uint8_t kNoProcessor = 0xFF;

  std::uint64_t amount = 0;      // bytes; of a computation ps
  std::uint32_t peer = 0;        // rank; together: into Graph::shared
  std::uint32_t tag = 0;         // send, recv
  std::uint32_t first_need = 0;  // into Graph::needs, up to those of the next task
  std::uint32_t origin = 0;      // line of a text, number of a node: where it stands
  Kind kind = Kind::compute;
  std::uint8_t processor = kNoProcessor;
};

// Of a task: another one of its rank that must be over, or only begun, before it.
struct Need {
  std::uint32_t task : 31;  // counted within the rank
  std::uint32_t begun : 1;
};

// Something that a group does together; equal work of one group is one entry, done again and again.
struct Shared {
  std::uint32_t group = 0;
  Together what = Together::all_reduce;
  std::uint64_t bytes = 0;  // as nccl-tests counts them
  std::uint32_t root = 0;   // of the group's ranks, counted within it
};

struct Graph {
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  std::string format;          // "GOAL", "Chakra"
  std::vector<Task> tasks;     // rank by rank
  std::vector<Range> ranks;    // into tasks
  std::vector<Need> needs;     // task by task
  std::vector<Shared> shared;  // by number
  std::vector<std::vector<std::uint32_t>> groups;

  std::uint32_t needs_end(std::uint32_t task) const {
    return task + 1 < tasks.size() ? tasks[task + 1].first_need : static_cast<std::uint32_t>(needs.size());
  }
};

// A need as files have them, before they are sorted by task.
struct NeedOf {
  std::uint32_t task = 0;  // counted within the rank, as `needed`
  std::uint32_t needed = 0;
  bool begun = false;
};
// Adds the needs of the tasks from `first` on, which are of one rank.
void add_needs(Graph& graph, std::uint32_t first, const std::vector<NeedOf>& needs);

// The tasks of a rank, each behind what it needs, else as they stand; fewer than there are: those left out need each
// other.
std::vector<std::uint32_t> order_of(const Graph& graph, std::uint32_t rank);

// What is wrong with a graph whichever file it comes from: needs that go in circles, messages that nobody sends, groups
// whose ranks do not do the same. `place_of` says where a task of a rank stands, in words.
using WhereOf = std::string (*)(const Graph& graph, std::uint32_t rank, std::uint32_t task);
void check_graph(const Graph& graph, std::uint32_t source, WhereOf where, spec::Diagnostics& diagnostics);

}  // namespace weft::workload
