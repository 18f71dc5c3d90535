#include <fmt/format.h>

#include <algorithm>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/session.hpp"
#include "app/show/bom.hpp"
#include "app/show/listings.hpp"
#include "app/show/show_paths.hpp"
#include "base/text.hpp"
#include "draw/fabric_picture.hpp"
#include "draw/picture.hpp"
#include "draw/server_picture.hpp"
#include "measured/topology_writer.hpp"

namespace weft::app {
namespace {

using fabric::Fabric;
using fabric::Link;
using fabric::NodeId;
using fabric::NodeKind;

constexpr std::size_t kRowsShown = 40;

int complain(const ShowOptions& options, Console& console, std::string message, std::string help) {
  spec::Diagnostics diagnostics;
  diagnostics.add(spec::Error::bad_reference, {}, std::move(message), std::move(help));
  report(diagnostics, options.input, console);
  return kYourInput;
}

// Writes a listing as the options want it; `note` follows the table.
int list(const Listing& listing, const ShowOptions& options, Console& console, const std::string& note = "") {
  const bool to_screen = options.output.empty();
  return write_output(options.output, console, [&](std::ostream& out) {
    const bool table = options.as == ShownAs::table;
    const std::size_t limit = options.limit.value_or(table ? kRowsShown : 0);
    const std::uint64_t more =
        table ? write_table(listing, limit, to_screen ? console.width : 0, to_screen && console.colour_out, out)
        : options.as == ShownAs::csv ? write_csv(listing, limit, out)
                                     : write_json(listing, limit, out);
    std::ostream& remarks = table ? out : console.err;  // records are for programs
    if (more > 0)
      remarks << fmt::format("... and {} more; --limit 0 shows all\n", grouped(static_cast<std::int64_t>(more)));
    if (table) remarks << note;
  });
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

std::string path_note(const Routes& routes) {
  const auto number = [](std::uint64_t n) { return grouped(static_cast<std::int64_t>(n)); };
  if (routes.with_parallel == 0)
    return fmt::format("these are the routes of {} flows; around failures and with detours there may be more\n",
                       number(kFlows));
  std::string text;
  if (!routes.complete) text = fmt::format("only the first {} routes are listed\n", number(routes.all.size()));
  if (routes.with_parallel > routes.all.size())
    text += fmt::format("{} shortest paths when parallel links are counted\n", number(routes.with_parallel));
  return text;
}

int paths(const ShowOptions& options, Session& session, Console& console) {
  const Fabric& fabric = session.fabric();
  spec::Diagnostics diagnostics;  // all wrong names at once
  const auto wrong = [&](std::string message, std::string help) {
    diagnostics.add(spec::Error::bad_reference, {}, std::move(message), std::move(help));
  };
  std::vector<std::uint32_t> ends;
  for (const std::string& name : options.names) {
    const auto node = fabric.find(name);
    if (node && fabric.describe(*node).kind == NodeKind::gpu) {
      ends.push_back(value(*node));
    } else {
      wrong(fmt::format("'{}' is not a GPU of this cluster", name),
            fmt::format("GPUs are {} to {}, or 0 to {}", fabric.name(fabric.gpu(0)),
                        fabric.name(fabric.gpu(fabric.cluster().gpus - 1)), fabric.cluster().gpus - 1));
    }
  }
  fabric::Failures failures = fabric.no_failures();
  for (const std::string& text : options.fail)
    if (!apply_failure(fabric, text, failures))
      wrong(fmt::format("'{}' is not a switch, NIC or link that can fail", text),
            "for example --fail spine0, --fail s0/nic1, --fail leaf0:spine1");
  if (ends.size() == 2 && ends[0] == ends[1])
    wrong(fmt::format("{} twice: a path needs two different GPUs", options.names[0]),
          "for example: weft show paths s0/gpu0 s1/gpu3");
  if (report(diagnostics, options.input, console)) return kYourInput;
  const Routes routes = find_routes(fabric, ends[0], ends[1], failures);
  if (!routes.all.empty()) return list(list_routes(fabric, routes), options, console, path_note(routes));
  console.err << fmt::format("nothing joins {} and {}{}\n", options.names[0], options.names[1],
                             options.fail.empty() ? "" : " any more");
  return kExpectationFailed;
}

// The group that `show server NAME` means; nullptr when there is none of that name.
const model::Group* find_group(const model::Cluster& cluster, const std::string& name) {
  const auto found = std::find_if(cluster.groups.begin(), cluster.groups.end(), [&](const model::Group& group) {
    return group.spec.name == name || group.spec.kind == name;
  });
  return found == cluster.groups.end() ? nullptr : &*found;
}

int picture(const ShowOptions& options, const Session& session, const model::Group* group, Console& console) {
  const bool whole = options.what == Shown::fabric || options.what == Shown::links;
  const draw::Picture picture = whole ? draw::fabric_picture(session.fabric())
                                      : draw::server_picture(group != nullptr ? *group : session.cluster().groups[0]);
  return write_output(options.output, console, [&](std::ostream& out) {
    out << (options.as == ShownAs::svg   ? draw::to_svg(picture)
            : options.as == ShownAs::dot ? draw::to_dot(picture)
                                         : draw::to_json(picture));
  });
}

// What has no price is said beside every form of the list: whoever adds it up should know.
int materials(const ShowOptions& options, const Fabric& fabric, Console& console) {
  const report::Facts facts = materials_note(fabric);
  const std::string note = facts.text(options.output.empty() ? console.width : 0, console.colour_out);
  const int code = list(list_materials(fabric), options, console, note.empty() ? note : "\n" + note);
  if (code == kFine && options.as == ShownAs::csv && !console.quiet) console.err << facts.text(0, console.colour_err);
  return code;
}

int topology(const ShowOptions& options, const model::Group& group, Console& console) {
  spec::Diagnostics diagnostics;
  const auto xml = measured::write_topology(group, diagnostics);
  if (report(diagnostics, options.input, console) || !xml) return kYourInput;
  return write_output(options.output, console, [&](std::ostream& out) { out << *xml; });
}

// What can be seen to be wrong without the cluster; kFine when nothing is.
int check_words(const ShowOptions& options, Console& console) {
  const Shown what = options.what;
  const std::string_view name = enum_name(what);
  const std::size_t wanted = what == Shown::paths ? 2 : what == Shown::server ? 1 : 0;
  if (what == Shown::paths && options.names.size() < wanted)
    return complain(options, console, "paths needs two GPUs", "for example: weft show paths s0/gpu0 s1/gpu3");
  if (options.names.size() > wanted)
    return complain(options, console,
                    fmt::format("show {} does not know what to do with '{}'", name, options.names[wanted]),
                    "if it is the cluster file, there is no such file");
  const bool draws = options.as == ShownAs::svg || options.as == ShownAs::dot;
  if (draws && (what == Shown::paths || what == Shown::bom))
    return complain(options, console, fmt::format("{} cannot be shown as {}", name, enum_name(options.as)),
                    "a table, csv or json; --as svg draws fabric, links, server, servers, gpus and nics");
  if (what == Shown::fabric && options.as == ShownAs::csv)
    return complain(options, console, "fabric cannot be shown as csv", "weft show links --as csv lists its cables");
  if (what != Shown::server && options.as == ShownAs::nccl_xml)
    return complain(options, console, fmt::format("{} cannot be shown as nccl-xml", name),
                    "a NCCL topology file describes one server: weft show server --as nccl-xml");
  if (what != Shown::paths && !options.fail.empty())
    return complain(options, console, fmt::format("--fail {} changes nothing in show {}", options.fail[0], name),
                    "only paths are routed around failures");
  return kFine;
}

}  // namespace

int show(const ShowOptions& options, Console& console) {
  if (const int code = check_words(options, console); code != kFine) return code;
  Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  for (const std::string& why : file_conflicts({{"", session.file()}}, {{"-o", options.output}}))
    return complain(options, console, why, "give -o another name, such as out.svg or out.json");
  if (options.what == Shown::paths) return paths(options, session, console);
  const model::Group* group = nullptr;
  if (!options.names.empty()) {
    group = find_group(session.cluster(), options.names[0]);
    std::vector<std::string> names;
    for (const model::Group& candidate : session.cluster().groups) names.push_back(candidate.spec.name);
    if (group == nullptr)
      return complain(options, console, fmt::format("no group of servers is called '{}'", options.names[0]),
                      fmt::format("one of {}", either(names)));
  }
  if (options.as == ShownAs::nccl_xml)
    return topology(options, group != nullptr ? *group : session.cluster().groups[0], console);
  const bool one_thing = options.what == Shown::fabric || options.what == Shown::server;
  if (options.as == ShownAs::svg || options.as == ShownAs::dot || (options.as == ShownAs::json && one_thing))
    return picture(options, session, group, console);
  const Fabric& fabric = session.fabric();
  switch (options.what) {
    case Shown::servers:
    case Shown::server:
      return list(list_servers(fabric, group), options, console);
    case Shown::gpus:
      return list(list_gpus(fabric), options, console);
    case Shown::nics:
      return list(list_nics(fabric), options, console);
    case Shown::bom:
      return materials(options, fabric, console);
    case Shown::links:
    case Shown::fabric:
    case Shown::paths:  // whose list has gone above
      break;
  }
  return list(list_links(fabric), options, console);
}

}  // namespace weft::app
