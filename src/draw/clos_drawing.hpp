#pragma once
// The drawing of a Clos, shared by clos_place.cpp (what stands where) and clos_picture.cpp (lines,
// frames, words). Boxes are placed from left to right first, each remembering the rows it stands
// in; when the width is known, rows get their heights, and only then are the lines drawn.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "draw/clos_blocks.hpp"
#include "draw/fabric_parts.hpp"

namespace weft::draw {

enum Row : std::uint8_t { kGateways, kSupers, kSpines, kLeaves, kServers };
inline constexpr std::size_t kRows = 5;
inline constexpr std::string_view kRowNouns[] = {"gateway", "super-spine", "spine", "leaf", "server"};
inline constexpr std::string_view kRowStyles[] = {"gateway", "super", "spine", "leaf", "server"};

// How many places a row of each sort may take before it is folded.
struct Detail {
  std::uint32_t sites, planes, supers, pods, spines, blocks, leaves, servers;
};

inline constexpr double kSwitchWidth = 76;
inline constexpr double kSwitchHeight = 40;
inline constexpr double kServerWidth = 112;
inline constexpr double kServerHeight = 52;
inline constexpr double kFoldWidth = 126;
inline constexpr double kGap = 12;
inline constexpr double kBlockGap = 26;
inline constexpr double kPodGap = 40;
inline constexpr double kSiteGap = 100;
inline constexpr double kFramePad = 12;
inline constexpr double kFrameLabel = 20;

class ClosDrawing {
 public:
  ClosDrawing(const fabric::Fabric& fabric, const Detail& detail)
      : fabric_(fabric), clos_(fabric.clos()->shape()), detail_(detail) {
    for (std::uint32_t site = 0; site < clos_.sites.size(); ++site) sites_.emplace_back(fabric, site);
  }

  void place();
  double width() const { return width_; }
  std::size_t boxes() const { return picture_.boxes.size(); }
  Picture draw();

 private:
  // A box that stands for switches or servers, and what lines to it mean.
  struct Shown {
    std::uint32_t box;
    Stretch what;
  };
  // Blocks shown or folded, the same in every plane and in the row of servers.
  struct Unit {
    std::uint32_t site;
    std::uint32_t first_block;
    auto operator<=>(const Unit&) const = default;
  };
  struct Rows {
    Row top;
    Row bottom;
  };
  struct FramePlan {
    double left, right;
    Rows rows;
    std::string label;
    std::string title;
    bool below;
  };
  struct Join {
    std::uint32_t upper;
    std::uint32_t lower;
    fabric::LinkTier tier;
    std::int64_t links;
    model::Wire wire;
    bool folded;
  };
  struct Extent {
    double left = 0;
    double right = 0;
    double width() const { return right - left; }
    double middle() const { return (left + right) / 2; }
  };
  struct Mark {
    std::size_t boxes, frames;
  };

  bool planes_apart() const { return fabric_.planes() > 1; }
  Row top_row() const {
    return clos_.gateways > 0 ? kGateways : clos_.tiers == 3 ? kSupers : clos_.tiers == 2 ? kSpines : kLeaves;
  }
  bool has_row(Row row) const {
    switch (row) {
      case kGateways:
        return clos_.gateways > 0;
      case kSupers:
        return clos_.tiers == 3;
      case kSpines:
        return clos_.tiers >= 2;
      default:
        return true;
    }
  }
  std::string_view unit_noun() const {
    return fabric_.cluster().file.fabric.kind == model::FabricKind::rail_optimized ? "scalable unit" : "leaf";
  }

  Mark mark() const { return {picture_.boxes.size(), frames_.size()}; }
  void shift(const Mark& from, double dx);
  void spread(std::size_t first, std::size_t end, const Extent& over, double share);
  std::uint32_t put(Box box, double x, Rows rows);
  std::string switch_facts(Row row, std::uint32_t node) const;
  std::vector<Shown> row_of_switches(Row row, std::uint32_t plane, std::uint32_t first, std::uint32_t count,
                                     std::uint32_t places, double x, Extent& extent);
  std::vector<Shown> row_above(Row row, std::uint32_t plane, std::uint32_t first, std::uint32_t count,
                               std::uint32_t places, const Mark& below, Extent& extent);
  std::uint32_t fold_box(std::string id, std::string_view noun, std::uint32_t folded, std::uint32_t all,
                         std::vector<std::string> more, double x, Rows rows);

  void place_site(std::uint32_t site, double x, Extent& extent);
  void place_plane(std::uint32_t site, std::uint32_t plane, double x, Extent& extent);
  std::vector<Shown> place_pods(std::uint32_t site, std::uint32_t plane, double x, Extent& extent);
  std::vector<Shown> place_pod(std::uint32_t site, std::uint32_t plane, std::uint32_t pod, double x, Extent& extent);
  std::vector<Shown> place_block(std::uint32_t site, std::uint32_t plane, std::uint32_t index, double x,
                                 Extent& extent);
  void place_servers(const Unit& unit, const Block& block, double x, Extent& extent);
  void place_server_row(std::uint32_t site, double x, Extent& extent);
  void name_leaf(std::uint32_t plane, const Block& block, const Shown& leaf);

  void join_switches(const std::vector<Shown>& upper, const std::vector<Shown>& lower, fabric::LinkTier tier,
                     std::int64_t links);
  void join_supers(const std::vector<Shown>& supers, const std::vector<Shown>& spines);
  void join_servers();
  void set_heights();
  void draw_frames();
  void draw_joins();
  void draw_site_links();
  void draw_gutter();
  void gap_text(Row upper, const std::string& strong, const std::string& aside);

  const fabric::Fabric& fabric_;
  const model::ClosShape& clos_;
  Detail detail_;
  std::vector<SiteBlocks> sites_;
  Picture picture_;
  std::vector<Rows> rows_;  // by box
  std::vector<FramePlan> frames_;
  std::vector<Join> joins_;
  struct UnitServers {
    std::uint32_t box;
    ServerRun run;
    bool folded;
  };
  struct UnitLeaves {
    std::uint32_t box;
    Stretch leaves;  // within the block
    std::uint32_t plane;
    bool folded;
  };
  std::map<Unit, std::vector<UnitServers>> servers_;
  std::map<Unit, std::vector<UnitLeaves>> leaves_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Shown>> gateways_;  // by plane, site
  std::map<std::uint32_t, double> site_right_;
  double y_[kRows] = {};
  double height_[kRows] = {};
  double width_ = 0;
};

}  // namespace weft::draw
