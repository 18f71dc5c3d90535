#include "measured/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/text.hpp"
#include "measured/text_lines.hpp"
#include "measured/xml.hpp"
#include "spec/node.hpp"

namespace weft::measured {
namespace {

using spec::Error;
using spec::Place;

// "0x10de" or "4318"; strtol's rules, which NCCL uses, without its tolerance for what follows.
std::optional<std::int64_t> c_number(std::string_view text) {
  if (!text.starts_with("0x")) return whole_number(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() < 3) return std::nullopt;
  return value;
}

// 0000:1b:00.0: four, two and two hexadecimal digits, one more.
bool is_bus_id(std::string_view text) {
  constexpr std::string_view kPattern = "xxxx:xx:xx.x";
  if (text.size() != kPattern.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hex = std::string_view("0123456789abcdefABCDEF").find(text[i]) != std::string_view::npos;
    if (kPattern[i] == 'x' ? !hex : text[i] != kPattern[i]) return false;
  }
  return true;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

class TopologyReader {
 public:
  TopologyReader(std::uint32_t source, spec::Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {}

  std::optional<Topology> read() {
    auto document = read_xml(source_, diagnostics_);
    if (!document) return std::nullopt;
    topology_.comments = std::move(document->comments);
    topology_.source = source_;
    system(document->root);
    if (refused_) return std::nullopt;
    return std::move(topology_);
  }

 private:
  void refuse(Place place, std::string message, std::string help) {
    refused_ = true;
    diagnostics_.add(Error::bad_topology, place, std::move(message), std::move(help));
  }

  // A number that may be missing; an empty text is "not known", as NCCL writes it.
  std::optional<std::int64_t> number(const XmlElement& element, std::string_view name, std::int64_t least,
                                     std::int64_t most) {
    const XmlAttribute* attribute = element.find(name);
    if (attribute == nullptr || attribute->value.empty()) return std::nullopt;
    const auto value = c_number(attribute->value);
    if (value && *value >= least && *value <= most) return value;
    refuse(attribute->place,
           fmt::format("{} of <{}> cannot be '{}'", name, element.name, spec::shown(attribute->value)),
           fmt::format("a whole number from {} to {}", grouped(least), grouped(most)));
    return std::nullopt;
  }
  std::optional<bool> flag(const XmlElement& element, std::string_view name) {
    const auto value = number(element, name, 0, 1);
    return value ? std::optional(*value == 1) : std::nullopt;
  }
  std::string text(const XmlElement& element, std::string_view name) const {
    const XmlAttribute* attribute = element.find(name);
    return attribute == nullptr ? "" : attribute->value;
  }

  const XmlAttribute* required(const XmlElement& element, std::string_view name, std::string_view example) {
    const XmlAttribute* attribute = element.find(name);
    if (attribute == nullptr)
      refuse(element.place, fmt::format("<{}> has no {}", element.name, name), fmt::format("{}=\"{}\"", name, example));
    return attribute;
  }

  void system(const XmlElement& root) {
    if (root.name != "system") {
      refuse(root.place, fmt::format("the file describes <{}>, not <system>", spec::shown(root.name)),
             root.name == "graphs" ? "this is what NCCL_GRAPH_DUMP_FILE writes; NCCL_TOPO_DUMP_FILE writes the topology"
                                   : "what NCCL_TOPO_DUMP_FILE writes begins with <system version=\"1\">");
      return;
    }
    const XmlAttribute* version = required(root, "version", "1");
    if (version != nullptr && version->value == "2")
      refuse(version->place, "a file of RCCL, with AMD GPUs: no other writes version 2",
             "MI300X, MI355X and their xGMI links are not modelled: no NVIDIA GPU stands in for them");
    else if (version != nullptr && version->value != "1")
      refuse(version->place, fmt::format("version {} is not known", spec::shown(version->value)),
             "NCCL reads and writes version=\"1\"");
    for (const XmlElement& child : root.children)
      if (child.name == "cpu") topology_.cpus.push_back(cpu(child));
    if (topology_.cpus.empty() && !refused_)
      refuse(root.place, "the system has no <cpu>", "a file that NCCL_TOPO_DUMP_FILE wrote");
  }

  TopologyCpu cpu(const XmlElement& element) {
    TopologyCpu out;
    out.place = element.place;
    out.host = text(element, "host_hash");
    out.numa = number(element, "numaid", -1, 65535).value_or(-1);
    out.arch = text(element, "arch");
    out.vendor = text(element, "vendor");
    out.family = number(element, "familyid", 0, 65535).value_or(0);
    out.model = number(element, "modelid", 0, 65535).value_or(0);
    if (required(element, "numaid", "0") != nullptr && !numa_nodes_.insert({out.host, out.numa}).second)
      refuse(element.place, fmt::format("a second <cpu> with numaid {}", out.numa), "every NUMA node once");
    host_ = out.host;
    for (const XmlElement& child : element.children) {
      if (child.name == "pci") out.devices.push_back(pci(child));
      if (child.name == "nic") read_nets(child, out.nets);
    }
    return out;
  }

  PciDevice pci(const XmlElement& element) {
    PciDevice out;
    out.place = element.place;
    if (const XmlAttribute* bus = required(element, "busid", "0000:1b:00.0")) {
      out.bus_id = lower(bus->value);
      if (!is_bus_id(bus->value)) {
        refuse(bus->place, fmt::format("busid cannot be '{}'", spec::shown(bus->value)),
               "domain:bus:device.function, such as 0000:1b:00.0");
      } else if (const auto [first, is_new] = bus_ids_.try_emplace({host_, out.bus_id}, bus->place); !is_new) {
        refuse(bus->place, fmt::format("a second device {}", out.bus_id),
               fmt::format("the first is on line {}", first->second.line));
      }
    }
    out.vendor = static_cast<std::uint32_t>(number(element, "vendor", 0, 0xFFFF).value_or(0));
    out.device = static_cast<std::uint32_t>(number(element, "device", 0, 0xFFFF).value_or(0));
    out.lanes = number(element, "link_width", 0, 32).value_or(0);
    out.gen = generation(element);
    for (const XmlElement& child : element.children) {
      if (child.name == "pci") out.below.push_back(pci(child));
      if (child.name == "nic") read_nets(child, out.nets);
      if (child.name == "gpu" && !out.gpu)
        out.gpu = gpu(child, out.bus_id);  // a second one is a partition of the same chip
    }
    out.kind = kind(element, out);
    return out;
  }

  static PciDevice::Kind kind(const XmlElement& element, const PciDevice& device) {
    using Kind = PciDevice::Kind;
    if (device.gpu) return Kind::gpu;
    if (std::any_of(element.children.begin(), element.children.end(),
                    [](const XmlElement& child) { return child.name == "nic"; }))
      return Kind::nic;
    if (!device.below.empty()) return Kind::bridge;
    const XmlAttribute* type = element.find("class");
    if (type == nullptr || type->value.empty()) return Kind::unknown;
    return type->value.starts_with("0x03") ? Kind::gpu : type->value.starts_with("0x02") ? Kind::nic : Kind::other;
  }

  // "32.0 GT/s PCIe", with or without decimals and what follows them; 0 when the file does not know.
  std::int64_t generation(const XmlElement& element) {
    const XmlAttribute* speed = element.find("link_speed");
    if (speed == nullptr || speed->value.empty() || speed->value.starts_with("Unknown")) return 0;
    static const std::map<std::string_view, std::int64_t> kGenerations = {
        {"2.5", 1},  {"5", 2},  {"5.0", 2},  {"8", 3},  {"8.0", 3},  {"16", 4},
        {"16.0", 4}, {"32", 5}, {"32.0", 5}, {"64", 6}, {"64.0", 6}, {"128.0", 7}};
    const std::string_view value = speed->value;
    const auto found = kGenerations.find(value.substr(0, value.find(' ')));
    if (found != kGenerations.end() && value.find("GT/s") != std::string_view::npos) return found->second;
    refuse(speed->place, fmt::format("link_speed cannot be '{}'", spec::shown(value)),
           "2.5, 5.0, 8.0, 16.0, 32.0 or 64.0 GT/s PCIe, or empty where it is not known");
    return 0;
  }

  TopologyGpu gpu(const XmlElement& element, const std::string& own) {
    topology_.is_dump = true;
    TopologyGpu out;
    out.dev = number(element, "dev", -1, 65535);
    out.rank = number(element, "rank", -1, 16'777'215);
    out.sm = number(element, "sm", 10, 999);
    out.gdr = flag(element, "gdr");
    out.of_rccl = element.find("gcn") != nullptr;
    for (const XmlElement& child : element.children) {
      out.of_rccl |= child.name == "xgmi";
      if (child.name == "nvlink") out.nvlinks.push_back(nvlinks(child, own));
      if (child.name == "c2c")
        out.c2c =
            ChipToChip{number(child, "bw", 1, 10'000'000).value_or(0), number(child, "count", 1, 1024).value_or(0)};
    }
    // Files of some virtual machines name a GPU as the other end of its own links: not a way to anywhere.
    std::erase_if(out.nvlinks, [&](const NvLinks& links) { return links.target == own; });
    return out;
  }

  NvLinks nvlinks(const XmlElement& element, const std::string& own) {
    NvLinks out;
    out.place = element.place;
    if (const XmlAttribute* target = required(element, "target", "0000:c1:00.0")) out.target = lower(target->value);
    if (required(element, "count", "18") != nullptr) out.count = number(element, "count", 1, 1024).value_or(0);
    const std::string type = text(element, "tclass");
    out.kind = type.starts_with("0x03")       ? NvLinks::Kind::gpu
               : type.starts_with("0x068001") ? NvLinks::Kind::cpu
                                              : NvLinks::Kind::nvswitch;
    if (!own.empty() && out.target == own)
      diagnostics_.add(Error::open_topology, element.place,
                       fmt::format("{} from GPU {} lead to itself", counted(out.count, "NVLink"), own),
                       "the machine hides where they lead; NCCL cannot use them either");
    return out;
  }

  void read_nets(const XmlElement& nic, std::vector<TopologyNet>& out) {
    for (const XmlElement& child : nic.children) {
      if (child.name != "net") continue;
      TopologyNet net;
      net.place = child.place;
      net.name = text(child, "name");
      net.dev = number(child, "dev", 0, 65535);
      net.megabits_per_second = number(child, "speed", -1, 100'000'000);
      if (net.megabits_per_second.value_or(1) <= 0) net.megabits_per_second.reset();  // a NIC that does not say
      net.port = number(child, "port", 0, 255).value_or(0);
      net.guid = text(child, "guid");
      net.gdr = flag(child, "gdr");
      net.collective = number(child, "coll", 0, 1).value_or(0) == 1;
      // What has no dev, or is for device-initiated traffic only, is not part of NCCL's graph.
      if (net.dev && number(child, "net", 0, 1).value_or(1) == 1) out.push_back(std::move(net));
    }
  }

  std::uint32_t source_;
  spec::Diagnostics& diagnostics_;
  bool refused_ = false;
  Topology topology_;
  std::string host_;
  std::set<std::pair<std::string, std::int64_t>> numa_nodes_;
  std::map<std::pair<std::string, std::string>, Place> bus_ids_;
};

}  // namespace

std::int64_t TopologyGpu::links() const {
  std::int64_t sum = 0;
  for (const NvLinks& each : nvlinks) sum += each.kind == NvLinks::Kind::cpu ? 0 : each.count;
  return sum;
}

std::optional<Topology> read_topology(std::uint32_t source, spec::Diagnostics& diagnostics) {
  return TopologyReader(source, diagnostics).read();
}

}  // namespace weft::measured
