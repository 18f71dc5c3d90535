#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "base/text.hpp"
#include "draw/fabric_picture.hpp"
#include "draw/picture.hpp"
#include "draw/server_picture.hpp"
#include "fabric/summary.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using fabric::Fabric;
using fabric::Link;
using fabric::NodeId;
using fabric::NodeKind;
using Json = nlohmann::ordered_json;

std::string_view link_name(const Link& link) {
  switch (link.link) {
    case fabric::LinkClass::scale_up: return "scale-up";
    case fabric::LinkClass::pcie: return "pcie";
    case fabric::LinkClass::host: return "host";
    case fabric::LinkClass::socket: return "socket";
    case fabric::LinkClass::network: break;
  }
  static constexpr std::string_view kTiers[] = {"nic", "spine", "super-spine", "gateway", "site", "local", "global"};
  return kTiers[static_cast<std::size_t>(link.tier)];
}

std::string_view distance_name(model::Diagram::Distance distance) {
  switch (distance) {
    case model::Diagram::Distance::same_switch: return "same PCIe switch";
    case model::Diagram::Distance::same_root: return "same root complex";
    case model::Diagram::Distance::same_socket: return "other root complex";
    case model::Diagram::Distance::other_socket: return "other socket";
  }
  return "";
}

std::string near_text(const model::Group& group, std::uint32_t gpu) {
  std::vector<std::string> names;
  for (const std::uint32_t nic : group.diagram.near_nics[gpu]) names.push_back(fmt::format("nic{}", nic));
  return fmt::format("{}", fmt::join(names, " "));
}

// Rows collected once, rendered as a table or as JSON records. Rows beyond the limit are counted,
// not made: a cluster may have a million.
class Rows {
 public:
  Rows(std::string record, std::vector<report::Column> columns, std::size_t limit)
      : record_(std::move(record)), columns_(columns), table_(std::move(columns)), limit_(limit) {}

  // False once the limit is reached; the caller may stop making cells.
  bool wants_more() const { return limit_ == 0 || made_ < limit_; }
  void add(std::vector<std::string> cells) {
    ++made_;
    Json row = {{"record", record_}};
    for (std::size_t i = 0; i < cells.size(); ++i) row[columns_[i].title] = cells[i];
    json_.push_back(std::move(row));
    table_.add(std::move(cells));
  }
  void skip(std::uint64_t n) { skipped_ += n; }

  std::string text(const Console& console) const {
    std::string out = table_.text(console.width, console.colour_out);
    if (skipped_ > 0) out += fmt::format("... and {} more; --limit 0 shows all\n", grouped(static_cast<std::int64_t>(skipped_)));
    return out;
  }
  std::string json() const {
    std::string out;
    for (const Json& row : json_) out += row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    return out;
  }

 private:
  std::string record_;
  std::vector<report::Column> columns_;
  report::Table table_;
  std::vector<Json> json_;
  std::size_t limit_;
  std::size_t made_ = 0;
  std::uint64_t skipped_ = 0;
};

// Calls make(group, server index in all) for servers until the rows are full.
template <class Make>
void for_servers(const model::Cluster& cluster, Rows& rows, std::uint32_t rows_each, Make make) {
  for (const model::Group& group : cluster.groups) {
    for (std::uint32_t server = 0; server < group.servers; ++server) {
      if (!rows.wants_more()) {
        rows.skip(static_cast<std::uint64_t>(group.servers - server) * rows_each);
        break;
      }
      make(group, server);
    }
  }
}

Rows servers(const Fabric& fabric, std::size_t limit) {
  const model::Cluster& cluster = fabric.cluster();
  Rows rows("server", {{"server"}, {"kind"}, {"gpus", true}, {"nics", true}, {"nic rate", true}, {"site"}, {"leaves"}}, limit);
  for_servers(cluster, rows, 1, [&](const model::Group& group, std::uint32_t server) {
    std::vector<std::string> leaves;
    for (std::uint32_t nic = 0; nic < group.nics() && fabric.has_network(); ++nic) {
      const NodeId card = fabric.node(NodeKind::nic, group.first_nic + server * group.nics() + nic);
      fabric.for_each_link(card, [&](const Link& link) {
        if (link.link != fabric::LinkClass::network) return;
        const std::string name = fabric.name(link.to);
        if (std::find(leaves.begin(), leaves.end(), name) == leaves.end()) leaves.push_back(name);
      });
    }
    rows.add({fmt::format("{}{}", group.spec.name, server), group.spec.kind, std::to_string(group.gpus()),
              std::to_string(group.nics()), group.nics() > 0 ? brief(group.spec.nic.rate) : "-", group.spec.site,
              fmt::format("{}", fmt::join(leaves, " "))});
  });
  return rows;
}

Rows gpus(const Fabric& fabric, std::size_t limit) {
  Rows rows("gpu", {{"gpu"}, {"number", true}, {"kind"}, {"pcie", true}, {"socket", true}, {"near nics"}, {"reached"}}, limit);
  for (const model::Group& group : fabric.cluster().groups) {
    const std::uint32_t all = group.servers * group.gpus();
    for (std::uint32_t i = 0; i < all; ++i) {
      if (!rows.wants_more()) {
        rows.skip(all - i);
        break;
      }
      const std::uint32_t gpu = i % group.gpus();
      const model::Diagram& diagram = group.diagram;
      const auto& near = diagram.near_nics[gpu];
      const bool direct = !near.empty() && diagram.direct(gpu, near[0]);
      const std::string reached = near.empty() ? "-"
                                  : direct     ? "directly"
                                               : fmt::format("through host memory ({})", distance_name(diagram.distance(gpu, near[0])));
      rows.add({fabric.name(fabric.gpu(group.first_gpu + i)), std::to_string(group.first_gpu + i), group.spec.gpu.kind,
                diagram.pcie_switches > 0 ? std::to_string(diagram.gpu_switch[gpu]) : "-",
                std::to_string(diagram.socket_of_root(diagram.gpu_switch[gpu])), near_text(group, gpu), reached});
    }
  }
  return rows;
}

Rows nics(const Fabric& fabric, std::size_t limit) {
  Rows rows("nic", {{"nic"}, {"kind"}, {"rate", true}, {"pcie", true}, {"socket", true}, {"near gpu"}, {"leaf:port"}}, limit);
  for_servers(fabric.cluster(), rows, fabric.cluster().groups[0].nics(), [&](const model::Group& group, std::uint32_t server) {
    for (std::uint32_t nic = 0; nic < group.nics(); ++nic) {
      const NodeId card = fabric.node(NodeKind::nic, group.first_nic + server * group.nics() + nic);
      std::vector<std::string> ports;
      fabric.for_each_link(card, [&](const Link& link) {
        if (link.link == fabric::LinkClass::network) ports.push_back(fmt::format("{}:{}", fabric.name(link.to), link.port));
      });
      const model::Diagram& diagram = group.diagram;
      rows.add({fabric.name(card), group.spec.nic.kind, brief(group.spec.nic.rate),
                diagram.pcie_switches > 0 ? std::to_string(diagram.nic_switch[nic]) : "-",
                std::to_string(diagram.socket_of_root(diagram.nic_switch[nic])), fmt::format("gpu{}", diagram.near_gpu[nic]),
                fmt::format("{}", fmt::join(ports, " "))});
    }
  });
  return rows;
}

Rows links(const Fabric& fabric, std::size_t limit) {
  Rows rows("link", {{"from"}, {"port", true}, {"to"}, {"tier"}, {"rate", true}, {"latency", true}}, limit);
  const std::uint32_t all = fabric.count(NodeKind::network_switch);
  for (std::uint32_t s = 0; s < all; ++s) {
    const NodeId id = fabric.node(NodeKind::network_switch, s);
    if (!rows.wants_more()) {
      rows.skip(static_cast<std::uint64_t>(all - s) * fabric.ports(s));
      break;
    }
    fabric.for_each_link(id, [&](const Link& link) {
      const bool seen = link.to < link.from && fabric.describe(link.to).kind == NodeKind::network_switch;
      if (seen) return;  // listed from the other end
      if (!rows.wants_more()) return rows.skip(1);
      rows.add({fabric.name(id), std::to_string(link.port), fabric.name(link.to), std::string(link_name(link)),
                brief(link.rate), brief(link.latency)});
    });
  }
  return rows;
}

// "leaf0", "s0/nic1", or a link "leaf0:spine1" (all parallel links between the two).
bool apply_failure(const Fabric& fabric, const std::string& text, fabric::Failures& failures) {
  const auto colon = text.find(':');
  const auto first = fabric.find(text.substr(0, colon));
  if (!first) return false;
  const fabric::Node at = fabric.describe(*first);
  if (colon == std::string::npos) {
    if (at.kind == NodeKind::network_switch) fabric.fail_switch(failures, at.local);
    if (at.kind == NodeKind::nic) fabric.fail_nic(failures, value(*first) - value(fabric.node(NodeKind::nic, 0)));
    return at.kind == NodeKind::network_switch || at.kind == NodeKind::nic;
  }
  const auto second = fabric.find(text.substr(colon + 1));
  if (!second) return false;
  const bool from_switch = at.kind == NodeKind::network_switch;
  const NodeId owner = from_switch ? *first : *second;
  const NodeId other = from_switch ? *second : *first;
  if (fabric.describe(owner).kind != NodeKind::network_switch) return false;
  bool found = false;
  fabric.for_each_link(owner, [&](const Link& link) {
    if (link.to != other) return;
    fabric.fail_link(failures, fabric.describe(owner).local, link.port);
    found = true;
  });
  return found;
}

void paths_of(const Fabric& fabric, std::uint32_t from, std::uint32_t to, const fabric::Failures& failures,
              std::size_t limit, Rows& rows, std::string& note) {
  // Different entropies give different paths; the distinct ones are shown.
  std::vector<std::vector<NodeId>> seen;
  constexpr std::uint32_t kEntropies = 4096;
  std::size_t found = 0;
  for (std::uint32_t entropy = 0; entropy < kEntropies; ++entropy) {
    const auto path = fabric.path(from, to, entropy, failures);
    if (!path) break;
    std::vector<NodeId> nodes = {fabric.gpu(from)};
    std::vector<std::uint32_t> ports;
    for (const Link& link : path->links) nodes.push_back(link.to);
    if (std::find(seen.begin(), seen.end(), nodes) != seen.end()) continue;
    seen.push_back(nodes);
    if (limit > 0 && ++found > limit) {
      note = fmt::format("... and more; --limit 0 shows what {} entropies reach\n", kEntropies);
      break;
    }
    std::vector<std::string> names;
    for (const NodeId node : nodes) names.push_back(fabric.name(node));
    std::string remark = path->host_memory ? "host memory" : "direct";
    if (path->relay) remark += fmt::format(", stored in {}", fabric.name(*path->relay));
    rows.add({std::to_string(seen.size()), std::to_string(path->links.size()), brief(fabric::path_latency(fabric, *path)),
              remark, fmt::format("{}", fmt::join(names, " > "))});
  }
}

int paths(const ShowOptions& options, Session& session, Console& console) {
  const Fabric& fabric = session.fabric();
  const auto complain = [&](std::string message, std::string help) {
    session.diagnostics().add(spec::Complaint::bad_reference, {}, std::move(message), std::move(help));
    report(session.diagnostics(), options.input, console);
    return kYourInput;
  };
  if (options.names.size() != 2)
    return complain("paths needs two GPUs", "for example: weft show paths s0/gpu0 s1/gpu3");
  std::uint32_t ends[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto node = fabric.find(options.names[i]);
    if (!node || fabric.describe(*node).kind != NodeKind::gpu)
      return complain(fmt::format("'{}' is not a GPU of this cluster", options.names[i]),
                      fmt::format("GPUs are {} to {}, or 0 to {}", fabric.name(fabric.gpu(0)),
                                  fabric.name(fabric.gpu(fabric.cluster().gpus - 1)), fabric.cluster().gpus - 1));
    ends[i] = value(*node);
  }
  fabric::Failures failures = fabric.no_failures();
  for (const std::string& text : options.fail)
    if (!apply_failure(fabric, text, failures))
      return complain(fmt::format("'{}' is not a switch, NIC or link that can fail", text),
                      "for example --fail spine0, --fail s0/nic1, --fail leaf0:spine1");
  Rows rows("path", {{"path", true}, {"links", true}, {"latency", true}, {"memory"}, {"route"}}, 0);
  std::string note;
  paths_of(fabric, ends[0], ends[1], failures, options.limit, rows, note);
  if (!rows.wants_more() || rows.json().empty()) {
    if (ends[0] == ends[1]) return kFine;
    console.err << fmt::format("nothing joins {} and {}{}\n", options.names[0], options.names[1],
                               options.fail.empty() ? "" : " any more");
    return kExpectationFailed;
  }
  // Routes are for reading: they are not cut to the terminal.
  Console wide = console;
  wide.width = 0;
  console.out << (options.as == "json" ? rows.json() : rows.text(wide) + note);
  return kFine;
}

bool write(const std::string& text, const ShowOptions& options, Console& console) {
  if (options.output.empty()) {
    console.out << text;
    return true;
  }
  std::ofstream file(options.output, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    console.err << fmt::format("cannot write {}\n", options.output);
    return false;
  }
  console.err << fmt::format("wrote {}\n", options.output);
  return true;
}

int picture(const ShowOptions& options, Session& session, Console& console) {
  const bool whole = options.what == "fabric" || options.what == "links";
  std::size_t group = 0;
  if (!whole && !options.names.empty()) {
    const auto& groups = session.cluster().groups;
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const model::Group& candidate) {
      return candidate.spec.name == options.names[0] || candidate.spec.kind == options.names[0];
    });
    if (found == groups.end()) {
      std::vector<std::string> names;
      for (const model::Group& candidate : groups) names.push_back(candidate.spec.name);
      session.diagnostics().add(spec::Complaint::bad_reference, {}, fmt::format("no group of servers is called '{}'", options.names[0]),
                                fmt::format("one of {}", either(names)));
      report(session.diagnostics(), options.input, console);
      return kYourInput;
    }
    group = static_cast<std::size_t>(found - groups.begin());
  }
  const draw::Picture picture = whole ? draw::fabric_picture(session.fabric())
                                      : draw::server_picture(session.cluster().groups[group]);
  const std::string text = options.as == "svg"   ? draw::to_svg(picture)
                           : options.as == "dot" ? draw::to_dot(picture)
                                                 : draw::to_json(picture);
  return write(text, options, console) ? kFine : kThisMachine;
}

}  // namespace

int show(const ShowOptions& options, Console& console) {
  Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  const bool drawn = options.as == "svg" || options.as == "dot";
  const bool is_picture = options.what == "fabric" || options.what == "server";
  if (options.what == "paths") {
    if (!drawn) return paths(options, session, console);
    console.err << "paths are shown as a table or as json; --as svg draws fabric, links, server, servers, gpus and nics\n";
    return kYourInput;
  }
  if (drawn || (is_picture && options.as == "json")) return picture(options, session, console);
  const Fabric& fabric = session.fabric();
  const std::string& what = options.what;
  const Rows rows = what == "servers" || what == "server" ? servers(fabric, options.limit)
                    : what == "gpus"                      ? gpus(fabric, options.limit)
                    : what == "nics"                      ? nics(fabric, options.limit)
                                                          : links(fabric, options.limit);
  return write(options.as == "json" ? rows.json() : rows.text(console), options, console) ? kFine : kThisMachine;
}

}  // namespace weft::app
