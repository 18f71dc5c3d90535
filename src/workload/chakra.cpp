#include "workload/chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/text.hpp"
#include "spec/node.hpp"
#include "workload/protobuf.hpp"

namespace weft::workload {
namespace {

using spec::Error;

constexpr std::uint64_t kMicrosecond = 1'000'000;  // ps
constexpr std::uint8_t kGpu = 0, kCpu = 1;         // processors of a rank
constexpr std::string_view kWhole = "the whole file, as Chakra's generator or converter wrote it";

// As numbered by et_def.proto.
enum class NodeType : std::uint8_t { invalid, metadata, load, store, compute, send, recv, together };
constexpr std::uint64_t kNodeTypes = 8;
constexpr std::uint32_t kAlone = 0xFFFFFFFFu;
constexpr std::size_t kMostMemberships = std::size_t{1} << 28;  // ranks times groups

// What is read of a node.
struct TraceNode {
  std::uint64_t id = 0;
  std::string_view name;
  std::uint64_t type = 0;
  std::uint64_t micros = 0;
  std::vector<std::uint64_t> needs;
  bool cpu = false;
  std::string_view group;
  std::optional<std::uint64_t> operations, tensor, type_of, bytes, from, to, tag, root;
};

class Reader {
 public:
  Reader(const ChakraGroups& groups, const ChakraRates& rates, spec::Diagnostics& diagnostics)
      : given_(groups), rates_(rates), diagnostics_(diagnostics) {}

  Graph read(const std::vector<std::uint32_t>& sources) {
    graph_.ranks.resize(sources.size());
    for (rank_ = 0; rank_ < sources.size() && !diagnostics_.full(); ++rank_) {
      source_ = sources[rank_];
      failed_ = false;
      read_rank();
    }
    if (!diagnostics_.has_errors()) make_groups();
    return std::move(graph_);
  }

 private:
  // A collective before its group is known.
  struct Wish {
    std::uint32_t group = 0;
    Together what = Together::all_reduce;
    std::uint64_t bytes = 0;
    std::uint32_t root = 0;  // rank of all
    bool part = false;       // bytes are of one rank
    auto key() const { return std::tuple(group, what, bytes, root); }
  };

  void refuse(std::size_t at, std::string what, std::string_view help) {
    failed_ = true;
    diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1}, fmt::format("at byte {}: {}", at, what), std::string(help));
  }
  void refuse(const TraceNode& node, std::string what, std::string_view help) {
    failed_ = true;
    diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1},
                     fmt::format("node {} ({}): {}", node.id, printable(node.name), what), std::string(help));
  }
  static std::string printable(std::string_view text) {
    std::string made(text.substr(0, 40));
    for (char& c : made)
      if (c < ' ' || c > '~') c = '?';
    return made;
  }

  void read_rank() {
    const std::string& bytes = diagnostics_.sources().text(source_);
    const auto first = static_cast<std::uint32_t>(graph_.tasks.size());
    numbers_.clear();
    wanted_.clear();
    Protobuf file(bytes);
    for (bool head = true; !file.done() && !failed_; head = false) {
      const std::size_t at = file.at();
      const auto message = file.delimited();
      if (!message) return refuse(at, "there is no whole message of protobuf here", kWhole);
      if (!head) read_node(*message, at);
    }
    if (failed_) return;
    if (bytes.empty()) return refuse(0, "the file is empty", kWhole);
    graph_.ranks[rank_] = {first, static_cast<std::uint32_t>(graph_.tasks.size())};
    std::vector<NeedOf> needs;
    for (const auto& [task, id] : wanted_) {
      const auto found = numbers_.find(id);
      if (found == numbers_.end()) {
        const std::uint32_t origin = graph_.tasks[first + task].origin;
        return refuse(0, fmt::format("node number {} of the file needs node {}, which is not there", origin, id),
                      "a trace with all nodes that others need");
      }
      needs.push_back({task, found->second, false});
    }
    if (graph_.needs.size() + needs.size() > kMostTasks) return refuse(0, too_many(), "a shorter trace");
    add_needs(graph_, first, needs);
  }

  static std::string too_many() {
    return fmt::format("there are more than {} nodes or needs in all files", grouped(kMostTasks));
  }

  void read_node(std::string_view message, std::size_t at) {
    TraceNode node;
    if (!decode(message, node)) return refuse(at, "this is no node of et_def.proto", kWhole);
    if (graph_.tasks.size() >= kMostTasks) return refuse(at, too_many(), "a shorter trace");
    const auto number = static_cast<std::uint32_t>(numbers_.size());
    if (!numbers_.try_emplace(node.id, number).second)
      return refuse(node, "another node has this id", "an id for each node of a rank");
    const std::optional<Task> task = task_of(node);
    if (!task) return;
    for (const std::uint64_t id : node.needs) wanted_.emplace_back(number, id);
    graph_.tasks.push_back(*task);
    graph_.tasks.back().origin = number;
  }

  bool decode(std::string_view message, TraceNode& node) {
    for (Protobuf in(message); !in.done();) {
      const auto field = in.next();
      if (!field) return false;
      using Kind = ProtobufField::Kind;
      switch (field->number) {
        case 1:
          if (field->kind != Kind::varint) return false;
          node.id = field->value;
          break;
        case 2:
          if (field->kind != Kind::bytes) return false;
          node.name = field->bytes;
          break;
        case 3:
          if (field->kind != Kind::varint) return false;
          node.type = field->value;
          break;
        case 4:  // control and data
        case 5:
          if (!add_ids(*field, node.needs)) return false;
          break;
        case 7:
          if (field->kind != Kind::varint) return false;
          node.micros = field->value;
          break;
        case 10:
          if (field->kind != Kind::bytes || !decode_attribute(field->bytes, node)) return false;
          break;
        default:  // when it began, tensors
          break;
      }
    }
    return true;
  }

  // One, or several packed together.
  static bool add_ids(const ProtobufField& field, std::vector<std::uint64_t>& ids) {
    if (field.kind == ProtobufField::Kind::varint) {
      ids.push_back(field.value);
      return true;
    }
    if (field.kind != ProtobufField::Kind::bytes) return false;
    for (Protobuf in(field.bytes); !in.done();) {
      const auto id = in.varint();
      if (!id) return false;
      ids.push_back(*id);
    }
    return true;
  }

  static bool decode_attribute(std::string_view message, TraceNode& node) {
    std::string_view name, text;
    std::optional<std::uint64_t> value;
    for (Protobuf in(message); !in.done();) {
      const auto field = in.next();
      if (!field) return false;
      const bool text_value = field->kind == ProtobufField::Kind::bytes;
      if (field->number == 1 && text_value) name = field->bytes;
      if (field->number == 29 && text_value) text = field->bytes;
      switch (field->number) {
        case 7:  // int32 to uint64, and bool
        case 9:
        case 11:
        case 13:
        case 27:
          if (text_value) return false;
          value = field->value;
          break;
        case 15:
        case 17:
          if (text_value) return false;
          value = static_cast<std::uint64_t>(field->zigzag());
          break;
        case 19:  // fixed
        case 21:
        case 23:
        case 25:
          if (text_value) return false;
          value = field->value;
          break;
        default:
          break;
      }
    }
    if (name == "is_cpu_op") node.cpu = value.value_or(0) != 0;
    if (name == "pg_name") node.group = text;
    if (!value) return true;
    if (name == "num_ops") node.operations = value;
    if (name == "tensor_size") node.tensor = value;
    if (name == "comm_type") node.type_of = value;
    if (name == "comm_size") node.bytes = value;
    if (name == "comm_src") node.from = value;
    if (name == "comm_dst") node.to = value;
    if (name == "comm_tag") node.tag = value;
    if (name == "root" || name == "root_rank") node.root = value;
    return true;
  }

  std::optional<Task> task_of(const TraceNode& node) {
    if (node.type >= kNodeTypes || node.type == 0) {
      refuse(node, fmt::format("{} is no type of node", node.type), "1 (metadata) to 7 (collective)");
      return std::nullopt;
    }
    switch (static_cast<NodeType>(node.type)) {
      case NodeType::load:
      case NodeType::store:
        return bytes_of(node, node.tensor, "tensor_size", Task::Kind::copy);
      case NodeType::compute:
        return computation(node);
      case NodeType::send:
      case NodeType::recv:
        return message(node);
      case NodeType::together:
        return collective(node);
      default:  // metadata
        return Task{};
    }
  }

  std::optional<Task> bytes_of(const TraceNode& node, const std::optional<std::uint64_t>& bytes, std::string_view key,
                               Task::Kind kind) {
    if (!bytes || *bytes > kMostTaskBytes) {
      refuse(node, bytes ? fmt::format("{} is more than 1 TiB", key) : fmt::format("there is no {}", key),
             fmt::format("an attribute {} in bytes", key));
      return std::nullopt;
    }
    Task task;
    task.kind = kind;
    task.amount = *bytes;
    return task;
  }

  std::optional<Task> computation(const TraceNode& node) {
    Task task;
    task.processor = node.cpu ? kCpu : kGpu;
    double seconds = static_cast<double>(node.micros) / 1e6;
    if (node.micros == 0) {
      const double operations = static_cast<double>(node.operations.value_or(0));
      const double bytes = static_cast<double>(node.tensor.value_or(0));
      if (operations > 0 && rates_.operations == 0) {
        refuse(node, "it has num_ops and no duration, and the GPU's rate is not known",
               "traces with duration_micros, or a GPU with fp16_dense");
        return std::nullopt;
      }
      if (operations > 0) seconds = operations / rates_.operations;
      if (operations > 0 && rates_.bytes > 0) seconds = std::max(seconds, bytes / rates_.bytes);
    }
    if (seconds * 1e12 > static_cast<double>(kMostTaskTime.count())) {
      refuse(node, "it takes more than a day", "duration_micros in microseconds");
      return std::nullopt;
    }
    task.amount = node.micros > 0 ? node.micros * kMicrosecond : static_cast<std::uint64_t>(std::ceil(seconds * 1e12));
    return task;
  }

  std::optional<Task> message(const TraceNode& node) {
    const bool sends = static_cast<NodeType>(node.type) == NodeType::send;
    std::optional<Task> task = bytes_of(node, node.bytes, "comm_size", sends ? Task::Kind::send : Task::Kind::recv);
    if (!task) return std::nullopt;
    const std::optional<std::uint64_t>& peer = sends ? node.to : node.from;
    if (!peer || *peer >= graph_.ranks.size()) {
      refuse(node,
             fmt::format("{} is {}", sends ? "comm_dst" : "comm_src",
                         peer ? fmt::format("{}, of {} ranks", *peer, graph_.ranks.size()) : "missing"),
             "the rank of the other side, which has a file");
      return std::nullopt;
    }
    const std::optional<std::uint64_t>& own = sends ? node.from : node.to;
    if (own && *own != rank_) {
      refuse(node, fmt::format("{} is {} in the file of rank {}", sends ? "comm_src" : "comm_dst", *own, rank_),
             "files in the order of their ranks");
      return std::nullopt;
    }
    task->peer = static_cast<std::uint32_t>(*peer);
    if (node.tag.value_or(0) > 0xFFFFFFFFu) {
      refuse(node, "comm_tag has more than 32 bits", "a tag from 0 to 4,294,967,295");
      return std::nullopt;
    }
    task->tag = static_cast<std::uint32_t>(node.tag.value_or(0));
    return task;
  }

  std::optional<Task> collective(const TraceNode& node) {
    std::optional<Task> task = bytes_of(node, node.bytes, "comm_size", Task::Kind::together);
    if (!task) return std::nullopt;
    const auto refuse_type = [&](std::string_view what) {
      refuse(node, fmt::format("comm_type is {}", what),
             "all-reduce, reduce, all-gather, broadcast, all-to-all, "
             "reduce-scatter or barrier (0, 1, 2, 5 to 9): NCCL has no others");
      return std::nullopt;
    };
    if (!node.type_of) return refuse_type("missing");
    Wish wish{0, Together::all_reduce, task->amount, 0, false};
    switch (*node.type_of) {
      case 0:
        break;
      case 1:
        wish.what = Together::reduce;
        break;
      case 2:
        wish.what = Together::all_gather;
        wish.part = true;
        break;
      case 5:
        wish.what = Together::broadcast;
        break;
      case 6:
        wish.what = Together::all_to_all;
        break;
      case 7:
      case 8:
        wish.what = Together::reduce_scatter;
        break;
      case 9:  // what PyTorch makes of it
        wish.bytes = 4;
        break;
      default:
        return refuse_type(fmt::format("{}", *node.type_of));
    }
    if (wish.bytes == 0) {
      refuse(node, "a collective of no bytes", "an attribute comm_size in bytes");
      return std::nullopt;
    }
    if (wish.what == Together::reduce || wish.what == Together::broadcast)
      wish.root = static_cast<std::uint32_t>(std::min<std::uint64_t>(node.root.value_or(0), 0xFFFFFFFFu));
    const auto [named, is_new] = names_.try_emplace(std::string(node.group), names_.size());
    if (is_new) users_.emplace_back();
    wish.group = named->second;
    std::vector<std::uint32_t>& users = users_[wish.group];
    if (users.empty() || users.back() != rank_) users.push_back(rank_);
    const auto [known, is_first] = wishes_.try_emplace(wish.key(), wishes_.size());
    if (is_first) wanted_together_.push_back(wish);
    task->peer = known->second;
    return task;
  }

  void make_groups() {
    if (names_.size() * graph_.ranks.size() > kMostMemberships) {
      diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1},
                       fmt::format("{} groups of {} ranks are more than are looked through",
                                   grouped(static_cast<std::int64_t>(names_.size())),
                                   grouped(static_cast<std::int64_t>(graph_.ranks.size()))),
                       "fewer names of groups");
      return;
    }
    graph_.groups.resize(names_.size());
    for (const auto& [name, number] : names_) {
      const auto found = given_.find(name);
      std::vector<std::uint32_t>& ranks = graph_.groups[number];
      if (found != given_.end()) {
        ranks = found->second;
      } else if (name.empty()) {
        for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) ranks.push_back(rank);
      } else {
        ranks = users_[number];
      }
      std::sort(ranks.begin(), ranks.end());
      if (ranks.empty() || ranks.back() >= graph_.ranks.size())
        diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1},
                         fmt::format("group '{}' has rank {}, of {}", printable(name), ranks.empty() ? 0 : ranks.back(),
                                     graph_.ranks.size()),
                         "a file for every rank of a group");
    }
    std::vector<std::uint32_t> numbers;  // by wish; nothing is to be done where a rank is alone
    for (const Wish& wish : wanted_together_) {
      const std::vector<std::uint32_t>& ranks = graph_.groups[wish.group];
      const std::uint64_t bytes = wish.part ? wish.bytes * ranks.size() : wish.bytes;
      if (bytes > kMostTaskBytes)
        diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1}, "a collective of more than 1 TiB",
                         "comm_size in bytes, of one rank");
      std::uint32_t root = 0;
      if (wish.root != 0) {
        const auto found = std::lower_bound(ranks.begin(), ranks.end(), wish.root);
        if (found == ranks.end() || *found != wish.root)
          diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1},
                           fmt::format("rank {} is the root of a group that it is not in", wish.root),
                           "a rank of the group");
        else
          root = static_cast<std::uint32_t>(found - ranks.begin());
      }
      numbers.push_back(ranks.size() > 1 ? static_cast<std::uint32_t>(graph_.shared.size()) : kAlone);
      if (ranks.size() > 1) graph_.shared.push_back({wish.group, wish.what, bytes, root});
    }
    for (Task& task : graph_.tasks) {
      if (task.kind != Task::Kind::together) continue;
      if (numbers[task.peer] == kAlone)
        task = Task{.first_need = task.first_need, .origin = task.origin};
      else
        task.peer = numbers[task.peer];
    }
  }

  const ChakraGroups& given_;
  const ChakraRates& rates_;
  spec::Diagnostics& diagnostics_;
  Graph graph_;
  std::uint32_t rank_ = 0;
  std::uint32_t source_ = 0;
  bool failed_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;     // of the rank: task by id
  std::vector<std::pair<std::uint32_t, std::uint64_t>> wanted_;  // of the rank: task, id that it needs
  std::map<std::string, std::uint32_t> names_;                   // groups by name
  std::vector<std::vector<std::uint32_t>> users_;                // of groups: ranks
  std::map<std::tuple<std::uint32_t, Together, std::uint64_t, std::uint32_t>, std::uint32_t> wishes_;
  std::vector<Wish> wanted_together_;
};

std::string where_in_trace(const Graph& graph, std::uint32_t rank, std::uint32_t task) {
  return fmt::format("node number {} of rank {}", graph.tasks[task].origin, rank);
}

}  // namespace

std::optional<ChakraGroups> read_chakra_groups(std::uint32_t source, spec::Diagnostics& diagnostics) {
  const spec::Node root = spec::parse_yaml(source, diagnostics);
  ChakraGroups groups;
  const auto refuse = [&](const spec::Place& place) {
    diagnostics.add(Error::bad_matrix, place, "groups are names with lists of ranks",
                    "for example {\"0\": [0, 1, 2, 3], \"1\": [0, 4]}");
    return std::nullopt;
  };
  if (diagnostics.has_errors()) return std::nullopt;
  if (!root.is_map()) return refuse({source, 0, 0, 1});
  for (const auto& entry : root.entries) {
    if (!entry.value.is_sequence()) return refuse(entry.value.place);
    std::vector<std::uint32_t>& ranks = groups[entry.key];
    for (const spec::Node& each : entry.value.items) {
      std::uint32_t rank = 0;
      const auto [end, error] = std::from_chars(each.text.data(), each.text.data() + each.text.size(), rank);
      if (!each.is_scalar() || error != std::errc{} || end != each.text.data() + each.text.size())
        return refuse(each.place);
      ranks.push_back(rank);
    }
    std::sort(ranks.begin(), ranks.end());
    if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) return refuse(entry.value.place);
  }
  return groups;
}

Graph read_chakra(const std::vector<std::uint32_t>& sources, const ChakraGroups& groups, const ChakraRates& rates,
                  spec::Diagnostics& diagnostics) {
  Graph graph = Reader(groups, rates, diagnostics).read(sources);
  graph.format = "Chakra";
  if (!diagnostics.has_errors() && !sources.empty()) check_graph(graph, sources[0], where_in_trace, diagnostics);
  return graph;
}

}  // namespace weft::workload
