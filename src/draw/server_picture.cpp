#include "draw/server_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "draw/words.hpp"

namespace weft::draw {
namespace {

using model::Diagram;

constexpr double kGutter = 172;  // left of the drawing, for what the links of a row are
constexpr double kGpuWidth = 82;
constexpr double kNicWidth = 66;
constexpr double kDeviceHeight = 78;
constexpr double kNicHeight = 34;
constexpr double kGap = 8;
constexpr double kTrunk = 22;  // between GPUs and NICs: room for the NICs' common line
constexpr double kColumnGap = 18;
constexpr double kSocketGap = 150;  // room for the socket link's text
constexpr double kMemoryHeight = 32;
constexpr double kCpuHeight = 36;
constexpr double kRootHeight = 24;
constexpr double kSwitchHeight = 30;
constexpr double kAside = 6;  // how far a path through host memory runs beside its link
constexpr double kLane = 26;  // of a GPU's link to its CPU, past the PCIe switch
constexpr double kWidest = 1700;
constexpr double kTorusStep = 92;
constexpr double kTorusAside = 300;      // room for a text beside the grid
constexpr std::uint32_t kMostNics = 8;   // of a column
constexpr std::uint32_t kMostGpus = 16;  // likewise

// What hangs below one root complex, and where.
struct Column {
  std::uint32_t root = 0;
  std::uint32_t socket = 0;
  std::vector<std::uint32_t> gpus;
  std::vector<std::uint32_t> nics;
  Rect at;                     // x and width only
  double axis = 0;             // x of its links upwards
  std::uint32_t top = kNoBox;  // PCIe switch, or root complex when there is none
};

class ServerDrawing {
 public:
  explicit ServerDrawing(const model::Group& group) : group_(group), spec_(group.spec), diagram_(group.diagram) {}

  Picture draw() {
    sort_columns();
    place_columns();
    draw_cpus();
    draw_roots();
    for (Column& column : columns_) draw_devices(column);
    draw_scale_up();
    draw_far_paths();
    draw_gutter();
    write_words();
    finish(picture_);
    return std::move(picture_);
  }

 private:
  bool switched() const { return diagram_.pcie_switches > 0; }
  bool torus() const { return spec_.scale_up && !spec_.scale_up->torus.empty(); }

  std::string pcie_text() const { return fmt::format("PCIe {} x{}", spec_.pcie_gen, spec_.pcie_lanes); }
  Bandwidth pcie_rate() const { return group_.pcie.one_way(spec_.pcie_lanes); }
  Bandwidth nic_pcie_rate() const { return std::min(pcie_rate(), group_.nic_pcie.one_way(spec_.nic.pcie_lanes)); }

  bool is_far(std::uint32_t gpu) const {
    return !diagram_.near_nics[gpu].empty() && !diagram_.direct(gpu, diagram_.near_nics[gpu][0]);
  }
  std::vector<std::uint32_t> far_gpus() const {
    std::vector<std::uint32_t> far;
    for (std::uint32_t gpu = 0; gpu < diagram_.gpu_switch.size(); ++gpu)
      if (is_far(gpu)) far.push_back(gpu);
    return far;
  }

  void sort_columns();
  bool stacks_gpus() const;
  double gpus_width(const Column& column, bool stacked) const;
  double column_width(const Column& column, bool stacked) const;
  void place_columns();

  void draw_cpus();
  void draw_socket_links();
  std::vector<std::uint32_t> cpus_by_place() const;  // boxes, from left to right
  void draw_roots();
  void draw_devices(Column& column);
  void draw_gpu(const Column& column, Stretch which, const Rect& at, double trunk);
  void draw_nics(const Column& column, double x);
  void draw_nic(const Column& column, Stretch which, const Rect& at, double trunk);
  void draw_scale_up();
  Rect scale_up_frame(double y, double inside, double height, std::string label);
  void draw_scale_up_switches(const std::vector<Stretch>& shown, const Rect& frame);
  void draw_torus(const Rect& frame);
  void torus_link(std::uint32_t from, std::uint32_t to, double out_x, double out_y);
  Bandwidth torus_rate() const;
  void draw_far_paths();
  void draw_far_socket_link(std::uint32_t a, std::uint32_t b);
  void far_segment(double x, double top, double bottom, std::string title);
  void draw_gutter();
  void gutter(double y, const std::string& strong, const std::string& aside);
  void write_words();

  void vertical(std::uint32_t upper, std::uint32_t lower, double x, std::string_view style, double width,
                std::string title) {
    const Rect& a = picture_.boxes[upper].at;
    const Rect& b = picture_.boxes[lower].at;
    picture_.lines.push_back(
        {{{x, a.bottom()}, {x, b.y}}, std::string(style), width, "", {}, std::move(title), upper, lower});
  }

  const model::Group& group_;
  const model::ServerGroup& spec_;
  const Diagram& diagram_;
  Picture picture_;
  std::vector<Column> columns_;
  bool stacked_ = false;
  std::vector<std::uint32_t> memory_, cpus_, roots_;  // boxes, by number
  std::vector<std::uint32_t> gpu_box_, nic_box_;
  std::vector<double> gpu_x_, nic_x_;  // of the link upwards
  double memory_y_ = 0, cpu_y_ = 0, root_y_ = 0, switch_y_ = 0, device_y_ = 0, device_h_ = 0;
  double scale_up_y_ = 0;
  double left_ = 0, right_ = 0;
};

void ServerDrawing::sort_columns() {
  for (std::uint32_t root = 0; root < diagram_.roots(); ++root)
    columns_.push_back({root, diagram_.socket_of_root(root), {}, {}, {}, 0, kNoBox});
  for (std::uint32_t gpu = 0; gpu < diagram_.gpu_switch.size(); ++gpu)
    columns_[diagram_.gpu_switch[gpu]].gpus.push_back(gpu);
  for (std::uint32_t nic = 0; nic < diagram_.nic_switch.size(); ++nic)
    columns_[diagram_.nic_switch[nic]].nics.push_back(nic);
  std::stable_sort(columns_.begin(), columns_.end(),
                   [](const Column& a, const Column& b) { return a.socket < b.socket; });
  gpu_box_.assign(diagram_.gpu_switch.size(), kNoBox);
  nic_box_.assign(diagram_.nic_switch.size(), kNoBox);
  gpu_x_.assign(gpu_box_.size(), 0);
  nic_x_.assign(nic_box_.size(), 0);
  roots_.assign(diagram_.roots(), kNoBox);
}

double ServerDrawing::gpus_width(const Column& column, bool stacked) const {
  if (column.gpus.empty()) return 0;
  const auto shown = fold(static_cast<std::uint32_t>(column.gpus.size()), kMostGpus).size();
  const double across = stacked ? 1 : static_cast<double>(shown);
  const double trunk = stacked && column.gpus.size() > 1 ? kTrunk / 2 : 0;
  return trunk + across * kGpuWidth + (across - 1) * kGap;
}

double ServerDrawing::column_width(const Column& column, bool stacked) const {
  const double gpus = gpus_width(column, stacked);
  const double nics = column.nics.empty() ? 0 : kNicWidth;
  const double between = gpus > 0 && nics > 0 ? kTrunk : 0;
  return std::max(kGpuWidth + 24, gpus + between + nics);
}

// Chips one above the other where a row would be too wide. Not with scale-up switches: their links
// would run through the lower chip.
bool ServerDrawing::stacks_gpus() const {
  if (spec_.scale_up && spec_.scale_up->switches > 0) return false;
  double width = 0;
  for (const Column& column : columns_) width += column_width(column, false) + kColumnGap;
  return width > kWidest;
}

void ServerDrawing::place_columns() {
  stacked_ = stacks_gpus();
  device_h_ = kDeviceHeight;
  for (const Column& column : columns_) {
    const auto nics = static_cast<double>(fold(static_cast<std::uint32_t>(column.nics.size()), kMostNics).size());
    const auto gpus = static_cast<double>(fold(static_cast<std::uint32_t>(column.gpus.size()), kMostGpus).size());
    device_h_ = std::max(device_h_, nics * kNicHeight + (nics - 1) * kGap);
    if (stacked_) device_h_ = std::max(device_h_, gpus * kDeviceHeight + (gpus - 1) * kGap);
  }
  double x = kGutter;
  left_ = x;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) x += columns_[i].socket != columns_[i - 1].socket ? kSocketGap : kColumnGap;
    columns_[i].at.x = x;
    columns_[i].at.w = column_width(columns_[i], stacked_);
    x = columns_[i].at.right();
  }
  right_ = x;
  cpu_y_ = memory_y_ + kMemoryHeight + 24;
  root_y_ = cpu_y_ + kCpuHeight + 40;
  switch_y_ = root_y_ + kRootHeight + (switched() ? 34 : 0);
  device_y_ = (switched() ? switch_y_ + kSwitchHeight : root_y_ + kRootHeight) + 44;
  scale_up_y_ = device_y_ + device_h_ + 54;
}

void ServerDrawing::draw_cpus() {
  const std::vector<std::uint32_t> far = far_gpus();
  for (std::uint32_t cpu = 0; cpu < diagram_.sockets; ++cpu) {
    double from = 1e30;
    double to = -1e30;
    for (const Column& column : columns_) {
      if (column.socket != cpu) continue;
      from = std::min(from, column.at.x);
      to = std::max(to, column.at.right());
    }
    if (from > to) {  // a CPU with nothing below stands to the right
      from = right_ + kSocketGap;
      to = right_ = from + 130;
    }
    std::vector<std::uint32_t> bounced;
    for (const std::uint32_t gpu : far)
      if (diagram_.socket_of_root(diagram_.gpu_switch[gpu]) == cpu) bounced.push_back(gpu);
    const std::string size = spec_.memory ? fmt::format(" {}", brief(*spec_.memory / diagram_.sockets)) : "";
    memory_.push_back(add_box(
        picture_,
        {fmt::format("memory{}", cpu),
         {from, memory_y_, to - from, kMemoryHeight},
         fmt::format("host memory{}", size),
         bounced.empty() ? std::vector<std::string>{}
                         : std::vector<std::string>{fmt::format("bounce buffers of GPU {}", ranges_text(bounced))},
         bounced.empty() ? "memory" : "bounce",
         fmt::format(
             "host memory of CPU {}{}", cpu,
             bounced.empty() ? "" : "; what GPU " + ranges_text(bounced) + " send and receive is copied through it")}));
    cpus_.push_back(add_box(picture_, {fmt::format("cpu{}", cpu),
                                       {from, cpu_y_, to - from, kCpuHeight},
                                       fmt::format("CPU {}", cpu),
                                       {},
                                       "cpu",
                                       fmt::format("CPU {}, socket {} of {}", cpu, cpu, diagram_.sockets)}));
    vertical(memory_.back(), cpus_.back(), (from + to) / 2, "link", 2, fmt::format("memory channels of CPU {}", cpu));
  }
  draw_socket_links();
}

std::vector<std::uint32_t> ServerDrawing::cpus_by_place() const {
  std::vector<std::uint32_t> order(cpus_);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return picture_.boxes[a].at.x < picture_.boxes[b].at.x; });
  return order;
}

void ServerDrawing::draw_socket_links() {
  if (!spec_.socket_link || diagram_.sockets < 2) return;
  const model::LinkKind& link = *spec_.socket_link;
  const std::string rate = byte_rate(link.one_way());
  const std::vector<std::uint32_t> order = cpus_by_place();
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Rect& a = picture_.boxes[order[i - 1]].at;
    const Rect& b = picture_.boxes[order[i]].at;
    const double y = a.centre().y;
    const double x = (a.right() + b.x) / 2;
    const std::string title =
        fmt::format("{} between the CPUs{}, {} each way", link.kind, diagram_.sockets > 2 ? ", all to all" : "", rate);
    picture_.lines.push_back({{{a.right(), y}, {b.x, y}}, "link", 3, "", {}, title, order[i - 1], order[i]});
    const double room = b.x - a.right() - 4;
    picture_.texts.push_back({{x, y - 9}, fitted(link.kind, room, kTextSize), "aside strong", Anchor::middle});
    picture_.texts.push_back({{x, y + 20}, fitted(rate + " each way", room, kTextSize), "aside", Anchor::middle});
  }
}

void ServerDrawing::draw_roots() {
  const std::string facts = fmt::format("{}, {} each way", pcie_text(), byte_rate(pcie_rate()));
  for (Column& column : columns_) {
    column.axis = column.at.centre().x;
    Rect root{column.axis - 40, root_y_, 80, kRootHeight};
    if (!switched()) {  // it takes the switch's place; GPUs with a link of their own pass beside it
      const double gpus = spec_.host_link && !column.nics.empty() ? gpus_width(column, stacked_) + kGap : 0;
      root = {column.at.x + gpus, root_y_, column.at.w - gpus, kRootHeight};
      column.axis = root.centre().x;
    }
    const std::string name =
        root.w < 100 ? fmt::format("root {}", column.root) : fmt::format("root complex {}", column.root);
    roots_[column.root] =
        add_box(picture_, {fmt::format("rc{}", column.root),
                           root,
                           name,
                           {},
                           "root",
                           fmt::format("PCIe root complex {} of CPU {}", column.root, column.socket)});
    column.top = roots_[column.root];
    vertical(cpus_[column.socket], column.top, column.axis, "link", 2, facts);
    if (!switched()) continue;
    const double lane = spec_.host_link && !column.gpus.empty() ? kLane : 0;
    const std::uint32_t box = add_box(picture_, {fmt::format("pcie{}", column.root),
                                                 {column.at.x + lane, switch_y_, column.at.w - lane, kSwitchHeight},
                                                 fmt::format("PCIe switch {}", column.root),
                                                 {},
                                                 "pcie",
                                                 fmt::format("PCIe switch {}: GPU {}; NIC {}", column.root,
                                                             column.gpus.empty() ? "none" : ranges_text(column.gpus),
                                                             column.nics.empty() ? "none" : ranges_text(column.nics))});
    vertical(column.top, box, column.axis, "link", 2, facts);
    column.top = box;
  }
}

void ServerDrawing::draw_devices(Column& column) {
  const auto gpus = fold(static_cast<std::uint32_t>(column.gpus.size()), kMostGpus);
  double x = column.at.x + (stacked_ && gpus.size() > 1 ? kTrunk / 2 : 0);
  if (column.nics.empty())  // in the middle of their switch
    x += (column.at.w - gpus_width(column, stacked_)) / 2;
  double y = device_y_;
  const double rows = stacked_ ? static_cast<double>(gpus.size()) : 1;
  const double height = (device_h_ - (rows - 1) * kGap) / std::max(1.0, rows);
  for (const Stretch which : gpus) {
    draw_gpu(column, which, {x, y, kGpuWidth, height}, gpus.size() > 1 && stacked_ ? x - 7 : 0);
    if (stacked_) {
      y += height + kGap;
    } else {
      x += kGpuWidth + kGap;
    }
  }
  if (!column.nics.empty()) draw_nics(column, column.at.right() - kNicWidth);
}

// What a GPU's box says of its NIC: the words carry it, the colour repeats it.
struct NicWords {
  std::string style;
  std::vector<std::string> notes;
  std::string title;
};

NicWords nic_words(const Diagram& diagram, std::uint32_t gpu) {
  const auto& near = diagram.near_nics[gpu];
  if (near.empty()) return {"plain", {"no NIC"}, "the server has no NIC"};
  const std::string nic = "NIC " + ranges_text(near);
  switch (diagram.distance(gpu, near[0])) {
    case Diagram::Distance::same_switch:
      return {"near", {nic, "direct"}, nic + " on the same PCIe switch: GPUDirect RDMA"};
    case Diagram::Distance::same_root:
      return {"near", {nic, "direct"}, nic + " below the same root complex: GPUDirect RDMA"};
    case Diagram::Distance::same_socket:
      return {"far",
              {nic + " via", "host memory"},
              nic + " hangs off another root complex: through host memory, no GPUDirect RDMA"};
    case Diagram::Distance::other_socket:
      break;
  }
  return {"cross",
          {nic + " via", "host memory", "and other CPU"},
          nic + " hangs off the other CPU: through host memory and the socket link"};
}

void ServerDrawing::draw_gpu(const Column& column, Stretch which, const Rect& at, double trunk) {
  const std::uint32_t gpu = column.gpus[which.first];
  if (which.folded) {
    add_box(picture_, {fmt::format("gpu{}+", gpu),
                       at,
                       fmt::format("… {} more", which.count),
                       {fmt::format("({} in all)", column.gpus.size())},
                       "more",
                       fmt::format("GPU {} to {}", gpu, column.gpus[which.first + which.count - 1])});
    return;
  }
  NicWords words = nic_words(diagram_, gpu);
  words.notes.insert(words.notes.begin(), spec_.gpu.kind);
  const std::uint32_t box =
      add_box(picture_, {fmt::format("gpu{}", gpu), at, fmt::format("GPU {}", gpu), words.notes, words.style,
                         fmt::format("GPU {}, {}: {}", gpu, spec_.gpu.kind, words.title)});
  gpu_box_[gpu] = box;
  gpu_x_[gpu] = at.centre().x;
  const std::string facts = fmt::format("GPU {}: {}, {} each way", gpu, pcie_text(), byte_rate(pcie_rate()));
  if (spec_.host_link) {
    const std::string host =
        fmt::format("GPU {}: {}, {} each way", gpu, spec_.host_link->kind, byte_rate(spec_.host_link->one_way()));
    gpu_x_[gpu] = switched() ? at.x + kLane / 2 : at.centre().x;
    vertical(cpus_[column.socket], box, gpu_x_[gpu], "nvlink", 3, host);
    if (switched()) vertical(column.top, box, at.x + kLane + (kGpuWidth - kLane) / 2, "link", 2, facts);
    return;
  }
  if (trunk > 0) {
    const double top = picture_.boxes[column.top].at.bottom();
    const double y = at.centre().y;
    picture_.lines.push_back({{{trunk, top}, {trunk, y}, {at.x, y}}, "link", 2, "", {}, facts, column.top, box});
    gpu_x_[gpu] = trunk;
    return;
  }
  vertical(column.top, box, gpu_x_[gpu], "link", 2, facts);
}

void ServerDrawing::draw_nics(const Column& column, double x) {
  const auto shown = fold(static_cast<std::uint32_t>(column.nics.size()), kMostNics);
  const auto rows = static_cast<double>(shown.size());
  const double height = (device_h_ - (rows - 1) * kGap) / rows;
  double y = device_y_;
  for (const Stretch which : shown) {
    draw_nic(column, which, {x, y, kNicWidth, height}, shown.size() > 1 ? x - 9 : 0);
    y += height + kGap;
  }
}

void ServerDrawing::draw_nic(const Column& column, Stretch which, const Rect& at, double trunk) {
  const std::uint32_t nic = column.nics[which.first];
  const std::string rate = short_rate(spec_.nic.rate);
  if (which.folded) {
    add_box(picture_, {fmt::format("nic{}+", nic),
                       at,
                       fmt::format("… {} more", which.count),
                       {fmt::format("({} in all)", column.nics.size())},
                       "more",
                       fmt::format("NIC {} to {}, {} each", nic, column.nics[which.first + which.count - 1], rate)});
    return;
  }
  std::vector<std::uint32_t> users;
  for (std::uint32_t gpu = 0; gpu < diagram_.near_nics.size(); ++gpu)
    if (std::find(diagram_.near_nics[gpu].begin(), diagram_.near_nics[gpu].end(), nic) != diagram_.near_nics[gpu].end())
      users.push_back(gpu);
  std::vector<std::string> notes = {rate};
  if (users.size() > 1) notes.push_back(fmt::format("for {} GPUs", users.size()));
  if (users.empty()) notes.push_back("unused");
  if (at.h < 3 * kLineHeight) notes.resize(1);
  std::string title =
      fmt::format("NIC {}: {}, {} one way, {}, used by {}", nic, spec_.nic.kind, brief(spec_.nic.rate),
                  counted(spec_.nic.ports, "port"), users.empty() ? "no GPU" : "GPU " + ranges_text(users));
  const std::uint32_t box =
      add_box(picture_, {fmt::format("nic{}", nic), at, fmt::format("NIC {}", nic), notes, "nic", std::move(title)});
  nic_box_[nic] = box;
  const std::string facts =
      fmt::format("NIC {}: PCIe {} x{}, {} each way", nic, std::min(spec_.pcie_gen, spec_.nic.pcie_gen),
                  std::min(spec_.pcie_lanes, spec_.nic.pcie_lanes), byte_rate(nic_pcie_rate()));
  nic_x_[nic] = trunk > 0 ? trunk : at.centre().x;
  if (trunk > 0) {
    const double top = picture_.boxes[column.top].at.bottom();
    const double y = at.centre().y;
    picture_.lines.push_back({{{trunk, top}, {trunk, y}, {at.x, y}}, "link", 2, "", {}, facts, column.top, box});
  } else {
    vertical(column.top, box, nic_x_[nic], "link", 2, facts);
  }
}

// The frame of the scale-up network, at least as wide as its words and what stands in it.
Rect ServerDrawing::scale_up_frame(double y, double inside, double height, std::string label) {
  const double width = std::max({right_ - left_, text_width(label, kTextSize) + 24, inside});
  const Rect frame{left_, y, width, height};
  picture_.frames.push_back({frame, std::move(label), "solid", ""});
  return frame;
}

void ServerDrawing::draw_scale_up() {
  if (!spec_.scale_up) return;
  const model::ScaleUp& domain = *spec_.scale_up;
  const std::string shared = domain.servers > 1 ? fmt::format("; {} servers with {} GPUs share it", domain.servers,
                                                              domain.servers * spec_.gpus)
                                                : "";
  if (!torus()) {
    const auto places = static_cast<std::uint32_t>(std::clamp((right_ - left_) / 92, 3.0, 8.0));
    const auto shown = fold(static_cast<std::uint32_t>(domain.switches), places);
    draw_scale_up_switches(shown, scale_up_frame(scale_up_y_, 92 * static_cast<double>(shown.size()) + 20, 74,
                                                 fmt::format("{}: every GPU to each of {}{}", domain.link.kind,
                                                             counted(domain.switches, "switch"), shared)));
    return;
  }
  std::vector<std::string> sides;
  for (const std::int64_t side : domain.torus) sides.push_back(fmt::format("{}", side));
  const bool grid = domain.torus.size() == 2 && domain.torus[0] <= 8 && domain.torus[1] <= 8;
  const double rows = grid ? static_cast<double>(domain.torus[1]) : 0;
  const double columns = grid ? static_cast<double>(domain.torus[0]) : 0;
  const Rect frame =
      scale_up_frame(scale_up_y_ - 24, kTorusStep * columns + 2 * kTorusAside, (grid ? 46 : 24) + rows * 42,
                     fmt::format("{} torus {}, {} per GPU one way{}", domain.link.kind, fmt::join(sides, " x "),
                                 byte_rate(domain.link.one_way()), shared));
  if (grid) draw_torus(frame);
}

void ServerDrawing::draw_scale_up_switches(const std::vector<Stretch>& shown, const Rect& frame) {
  const model::ScaleUp& domain = *spec_.scale_up;
  const std::string each_gpu = byte_rate(domain.link.one_way() / domain.switches);
  const double step = (frame.w - 20) / static_cast<double>(shown.size());
  const double w = std::min(110.0, step - 8);
  double x = frame.x + 10 + (step - w) / 2;
  for (const Stretch which : shown) {
    Box box{fmt::format("nvswitch{}", which.first),
            {x, frame.y + 26, w, 36},
            fmt::format("switch {}", which.first),
            {each_gpu + "/GPU"},
            "nvswitch",
            fmt::format("scale-up switch {}: {} to every GPU, one way", which.first, each_gpu)};
    if (which.folded) {
      box.id += "+";
      box.label = fmt::format("… {} more", which.count);
      box.notes = {fmt::format("({} in all)", domain.switches)};
      box.style = "more";
    }
    add_box(picture_, std::move(box));
    x += step;
  }
  const std::string facts =
      fmt::format("{}: {} one way, to all switches together", domain.link.kind, byte_rate(domain.link.one_way()));
  for (const std::uint32_t box : gpu_box_) {
    if (box == kNoBox) continue;
    const Rect& gpu = picture_.boxes[box].at;
    const double middle = gpu.centre().x;
    picture_.lines.push_back({{{middle, gpu.bottom()}, {middle, frame.y}}, "nvlink", 4, "", {}, facts, box, kNoBox});
  }
}

// Each side longer than one takes two of a chip's link ends, as fabric::Fabric counts them.
Bandwidth ServerDrawing::torus_rate() const {
  std::int64_t ends = 0;
  for (const std::int64_t side : spec_.scale_up->torus) ends += side > 1 ? 2 : 0;
  return spec_.scale_up->link.one_way() / std::max<std::int64_t>(1, ends);
}

// To the right or downwards: to the next chip, or out of the grid on both sides where it wraps.
void ServerDrawing::torus_link(std::uint32_t from, std::uint32_t to, double out_x, double out_y) {
  if (from == to) return;
  const std::string facts =
      fmt::format("{}, {} to each neighbour, one way", spec_.scale_up->link.kind, byte_rate(torus_rate()));
  const Rect& a = picture_.boxes[from].at;
  const Rect& b = picture_.boxes[to].at;
  const bool across = out_x > 0;
  const Point start = across ? Point{a.right(), a.centre().y} : Point{a.centre().x, a.bottom()};
  const Point end = across ? Point{b.x, b.centre().y} : Point{b.centre().x, b.y};
  if (to > from) {
    picture_.lines.push_back({{start, end}, "nvlink", 2, "", {}, facts, from, to});
    return;
  }
  picture_.lines.push_back({{start, {start.x + out_x, start.y + out_y}}, "nvlink", 2, "", {}, facts, from, kNoBox});
  picture_.lines.push_back({{{end.x - out_x, end.y - out_y}, end}, "nvlink", 2, "", {}, facts, kNoBox, to});
}

// The chips in their places: the first side runs left to right, wrapping at the ends.
void ServerDrawing::draw_torus(const Rect& frame) {
  const auto columns = static_cast<std::uint32_t>(spec_.scale_up->torus[0]);
  const auto rows = static_cast<std::uint32_t>(spec_.scale_up->torus[1]);
  const double x0 = frame.centre().x - kTorusStep * (columns - 1) / 2.0;
  const auto middle = [&](std::uint32_t c, std::uint32_t r) {
    return Point{x0 + kTorusStep * c, frame.y + 54 + 42.0 * r};
  };
  const auto first = static_cast<std::uint32_t>(picture_.boxes.size());
  for (std::uint32_t chip = 0; chip < columns * rows; ++chip) {
    const Point at = middle(chip % columns, chip / columns);
    add_box(picture_, {fmt::format("torus{}", chip),
                       {at.x - 31, at.y - 10, 62, 20},
                       fmt::format("GPU {}", chip),
                       {},
                       "nvswitch",
                       fmt::format("GPU {} in row {}, column {}", chip, chip / columns, chip % columns)});
  }
  for (std::uint32_t chip = 0; chip < columns * rows; ++chip) {
    const std::uint32_t row = chip / columns * columns;
    torus_link(first + chip, first + row + (chip + 1) % columns, 15, 0);
    torus_link(first + chip, first + (chip + columns) % (columns * rows), 0, 11);
  }
  picture_.texts.push_back({{x0 + kTorusStep * (columns - 1) + 62, middle(0, 0).y + 4},
                            "lines that leave the grid come back opposite",
                            "aside",
                            Anchor::start});
}

void ServerDrawing::far_segment(double x, double top, double bottom, std::string title) {
  picture_.lines.push_back(
      {{{x + kAside, bottom}, {x + kAside, top}}, "faraway", 2, "", {}, std::move(title), kNoBox, kNoBox});
}

// Beside the links, each stretch once however many GPUs use it: from the GPU up to host memory, and
// down again to the NIC.
void ServerDrawing::draw_far_paths() {
  std::set<std::uint32_t> roots, nics;
  std::set<std::pair<std::uint32_t, std::uint32_t>> crossed;  // CPUs
  const auto column_of = [&](std::uint32_t root) -> const Column& {
    return *std::find_if(columns_.begin(), columns_.end(), [&](const Column& c) { return c.root == root; });
  };
  for (const std::uint32_t gpu : far_gpus()) {
    const std::uint32_t nic = diagram_.near_nics[gpu][0];
    if (gpu_box_[gpu] == kNoBox || nic_box_[nic] == kNoBox) continue;
    const Column& column = column_of(diagram_.gpu_switch[gpu]);
    const Rect& box = picture_.boxes[gpu_box_[gpu]].at;
    const std::uint32_t top = spec_.host_link ? cpus_[column.socket] : column.top;
    const bool side = gpu_x_[gpu] < box.x;
    far_segment(gpu_x_[gpu], picture_.boxes[top].at.bottom(), side ? box.centre().y - kAside : box.y,
                fmt::format("GPU {} to NIC {}", gpu, nic));
    if (!spec_.host_link) roots.insert(column.root);
    roots.insert(diagram_.nic_switch[nic]);
    nics.insert(nic);
    const std::uint32_t there = diagram_.socket_of_root(diagram_.nic_switch[nic]);
    if (there != column.socket) crossed.insert({column.socket, there});
  }
  for (const std::uint32_t nic : nics) {
    const Column& column = column_of(diagram_.nic_switch[nic]);
    const Rect& box = picture_.boxes[nic_box_[nic]].at;
    const bool side = nic_x_[nic] < box.x;
    far_segment(nic_x_[nic], picture_.boxes[column.top].at.bottom(), side ? box.centre().y - kAside : box.y,
                fmt::format("to NIC {} through host memory", nic));
  }
  for (const std::uint32_t root : roots) {
    const Column& column = column_of(root);
    const Rect& cpu = picture_.boxes[cpus_[column.socket]].at;
    const Rect& rc = picture_.boxes[roots_[root]].at;
    if (switched()) far_segment(column.axis, rc.bottom(), picture_.boxes[column.top].at.y, "through host memory");
    far_segment(column.axis, cpu.bottom(), rc.y, "through host memory");
    far_segment(column.axis, picture_.boxes[memory_[column.socket]].at.bottom(), cpu.y, "through host memory");
  }
  for (const auto& [a, b] : crossed) draw_far_socket_link(a, b);
}

// In every gap between CPUs that lies between the two.
void ServerDrawing::draw_far_socket_link(std::uint32_t a, std::uint32_t b) {
  const std::vector<std::uint32_t> order = cpus_by_place();
  const auto place = [&](std::uint32_t cpu) {
    return std::find(order.begin(), order.end(), cpus_[cpu]) - order.begin();
  };
  const double y = cpu_y_ + kCpuHeight / 2 + kAside;
  for (auto at = std::min(place(a), place(b)); at < std::max(place(a), place(b)); ++at) {
    const auto i = static_cast<std::size_t>(at);
    const double from = picture_.boxes[order[i]].at.right();
    const double to = picture_.boxes[order[i + 1]].at.x;
    picture_.lines.push_back(
        {{{from, y}, {to, y}}, "faraway", 2, "", {}, "through host memory, between the CPUs", kNoBox, kNoBox});
  }
}

void ServerDrawing::gutter(double y, const std::string& strong, const std::string& aside) {
  constexpr double kRoom = kGutter - 14;
  picture_.texts.push_back({{0, y - 2}, fitted(strong, kRoom, kTextSize), "strong", Anchor::start});
  picture_.texts.push_back({{0, y + 12}, fitted(aside, kRoom, kTextSize), "aside", Anchor::start});
}

void ServerDrawing::draw_gutter() {
  const std::string each_way = byte_rate(pcie_rate()) + " each way";
  const double below_cpu = (cpu_y_ + kCpuHeight + root_y_) / 2;
  gutter(below_cpu, pcie_text(), each_way);
  if (switched()) gutter((root_y_ + kRootHeight + switch_y_) / 2 + 1, pcie_text(), each_way);
  const double above_devices = device_y_ - 22;
  const bool nic_differs = spec_.nics > 0 && nic_pcie_rate() != pcie_rate();
  if (spec_.host_link) {
    gutter(above_devices - (nic_differs ? 0 : 0), spec_.host_link->kind,
           byte_rate(spec_.host_link->one_way()) + " per GPU, one way");
  } else {
    gutter(above_devices, pcie_text(), each_way);
  }
  if (spec_.nics > 0) {
    const double y = device_y_ + 18;
    gutter(y, fmt::format("{} x {}", spec_.nics, spec_.nic.kind),
           fmt::format("{} each, one way", brief(spec_.nic.rate)));
    if (nic_differs || spec_.host_link)
      gutter(y + 36,
             fmt::format("NIC on PCIe {} x{}", std::min(spec_.pcie_gen, spec_.nic.pcie_gen),
                         std::min(spec_.pcie_lanes, spec_.nic.pcie_lanes)),
             byte_rate(nic_pcie_rate()) + " each way");
  }
  if (spec_.scale_up && !torus())
    gutter(device_y_ + device_h_ + 27, spec_.scale_up->link.kind,
           byte_rate(spec_.scale_up->link.one_way()) + " per GPU, one way");
}

void ServerDrawing::write_words() {
  const std::vector<std::uint32_t> far = far_gpus();
  picture_.title = fmt::format("{}: inside the server", spec_.kind);
  const std::string switches = switched() ? counted(spec_.pcie_switches, "PCIe switch") : "no PCIe switches";
  picture_.caption.push_back(
      fmt::format("{} {} ({}), {} ({}, {} each), {}, {}", spec_.gpus, spec_.gpus == 1 ? "GPU" : "GPUs", spec_.gpu.kind,
                  counted(spec_.nics, "NIC"), spec_.nics > 0 ? spec_.nic.kind : "none",
                  spec_.nics > 0 ? brief(spec_.nic.rate) : "0", counted(diagram_.sockets, "CPU"), switches));
  std::string verdict = "every GPU has a NIC below its own root complex";
  if (spec_.nics == 0) verdict = "the server has no NIC for the fabric";
  if (!far.empty())
    verdict = fmt::format("{} of {} GPUs ({}) reach their NIC only through host memory, without GPUDirect RDMA",
                          far.size(), spec_.gpus, ranges_text(far));
  picture_.caption.push_back(verdict);
  picture_.description = picture_.caption[0] + "; " + verdict;

  std::set<std::string> styles;
  for (const Box& box : picture_.boxes) styles.insert(box.style);
  if (styles.contains("near"))
    picture_.legend.push_back({false, "near", 2, "GPU with its NIC near: direct (GPUDirect RDMA)", {}});
  if (styles.contains("far")) picture_.legend.push_back({false, "far", 2, "GPU far from its NIC: via host memory", {}});
  if (styles.contains("cross"))
    picture_.legend.push_back({false, "cross", 2, "GPU far from its NIC: via host memory and the other CPU", {}});
  if (!far.empty()) picture_.legend.push_back({true, "faraway", 2, "the way of far GPUs", {}});
  if (styles.contains("nic")) picture_.legend.push_back({false, "nic", 2, "NIC", {}});
  picture_.legend.push_back({true, "link", 2, "PCIe, socket link", {}});
  if (spec_.scale_up) picture_.legend.push_back({true, "nvlink", 4, spec_.scale_up->link.kind, {}});
}

}  // namespace

Picture server_picture(const model::Group& group) {
  Picture picture = ServerDrawing(group).draw();
  if (is_chip(group.spec.gpu.kind)) reword(picture, chips_for_gpus);
  return picture;
}

}  // namespace weft::draw
