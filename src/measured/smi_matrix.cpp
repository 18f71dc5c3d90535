#include "measured/smi_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "measured/text_lines.hpp"
#include "spec/node.hpp"

namespace weft::measured {
namespace {

using spec::Error;

constexpr std::size_t kMostDevices = 512;
constexpr std::int64_t kMostLinks = 64;

// GPU0, NIC3, mlx5_0, but not the "GPU" of "GPU NUMA ID" and not "NUMA".
bool is_name(std::string_view word) {
  return !word.empty() && word.back() >= '0' && word.back() <= '9' &&
         word.find_first_of("abcdefghijklmnopqrstuvwxyzGNI") != std::string_view::npos &&
         word.find_first_of("-,:=") == std::string_view::npos && !word.starts_with("NV");
}

bool is_gpu(std::string_view name) { return name.starts_with("GPU"); }

std::optional<SmiMatrix::Cell> cell_of(std::string_view word) {
  using Path = SmiMatrix::Path;
  static constexpr std::pair<std::string_view, Path> kPaths[] = {
      {"X", Path::self},    {"PIX", Path::pix}, {"PXB", Path::pxb}, {"PHB", Path::phb},
      {"NODE", Path::node}, {"SYS", Path::sys}, {"SOC", Path::sys}};
  for (const auto& [text, path] : kPaths)
    if (word == text) return SmiMatrix::Cell{path, 0};
  if (!word.starts_with("NV")) return std::nullopt;
  const auto links = whole_number(word.substr(2));
  if (!links || *links < 1 || *links > kMostLinks) return std::nullopt;
  return SmiMatrix::Cell{Path::nvlink, *links};
}

class MatrixReader {
 public:
  MatrixReader(std::uint32_t source, spec::Diagnostics& diagnostics)
      : diagnostics_(diagnostics), lines_(source, Error::bad_smi_matrix, diagnostics), refused_(!lines_.readable()) {
    matrix_.source = source;
  }

  std::optional<SmiMatrix> read() {
    for (Line line; lines_.next(line);) {
      std::vector<Word> all = words(line.text, kMostDevices + 16);
      if (!all.empty() && all[0].text == "#") all.erase(all.begin());
      if (all.empty()) continue;
      if (matrix_.devices.empty()) {
        read_heading(line, all);
      } else if (all[0].text.ends_with(':') && all.size() == 2) {
        read_legend(all);
      } else if (is_name(all[0].text) && all.size() > 1) {
        read_row(line, all);
      }
    }
    if (!refused_) finish();
    if (refused_) return std::nullopt;
    return std::move(matrix_);
  }

 private:
  void refuse(spec::Place place, std::string message, std::string help) {
    refused_ = true;
    diagnostics_.add(Error::bad_smi_matrix, place, std::move(message), std::move(help));
  }

  void read_heading(const Line& line, const std::vector<Word>& all) {
    if (all[0].text != "GPU0" || (all.size() > 1 && cell_of(all[1].text))) return;
    for (const Word& word : all) {
      if (!is_name(word.text) || matrix_.devices.size() == kMostDevices) break;
      if (find(word.text) != matrix_.devices.size()) {
        refuse(lines_.place(line, word), fmt::format("a second {}", spec::shown(word.text)), "every device once");
        break;
      }
      SmiMatrix::Device device;
      device.name = word.text;
      device.is_gpu = is_gpu(word.text);
      device.place = lines_.place(line, word);
      matrix_.devices.push_back(std::move(device));
    }
    matrix_.cells.resize(matrix_.devices.size());
  }

  std::size_t find(std::string_view name) const {
    const auto found = std::find_if(matrix_.devices.begin(), matrix_.devices.end(),
                                    [&](const auto& device) { return device.name == name; });
    return static_cast<std::size_t>(found - matrix_.devices.begin());
  }

  void read_legend(const std::vector<Word>& all) {
    const std::size_t index = find(all[0].text.substr(0, all[0].text.size() - 1));
    if (index < matrix_.devices.size()) matrix_.devices[index].interface = all[1].text;
  }

  void read_row(const Line& line, const std::vector<Word>& all) {
    const std::size_t index = find(all[0].text);
    const std::size_t columns = matrix_.devices.size();
    if (index == columns || !matrix_.cells[index].empty())
      return refuse(lines_.place(line, all[0]),
                    index == columns ? fmt::format("{} is not in the heading", spec::shown(all[0].text))
                                     : fmt::format("a second row of {}", all[0].text),
                    "one row for each device of the heading");
    for (std::size_t i = 1; i <= columns; ++i) {
      if (i >= all.size())
        return refuse(lines_.place(line, all.back()),
                      fmt::format("the row of {} has {} of {} columns", all[0].text, i - 1, columns),
                      "copy the whole matrix, without wrapped lines");
      const auto cell = cell_of(all[i].text);
      if (!cell)
        return refuse(lines_.place(line, all[i]),
                      fmt::format("'{}' does not say how two devices are joined", spec::shown(all[i].text)),
                      "X, NV1, NV2, ..., PIX, PXB, PHB, NODE or SYS");
      if ((cell->path == SmiMatrix::Path::self) != (i - 1 == index))
        return refuse(lines_.place(line, all[i]), "X stands where a device meets itself, and nowhere else",
                      "copy the whole matrix");
      matrix_.cells[index].push_back(*cell);
    }
    SmiMatrix::Device& device = matrix_.devices[index];
    if (columns + 1 < all.size()) device.cpus = all[columns + 1].text;
    if (columns + 2 < all.size()) device.numa = whole_number(all[columns + 2].text);
  }

  // People copy the rows of the GPUs only: how far NICs are from them is all there, how far from each other is not.
  void fill_nics() {
    for (std::size_t a = 0; a < matrix_.devices.size(); ++a) {
      if (matrix_.devices[a].is_gpu || !matrix_.cells[a].empty()) continue;
      for (std::size_t b = 0; b < matrix_.devices.size(); ++b) {
        const bool said = matrix_.devices[b].is_gpu && !matrix_.cells[b].empty();
        matrix_.cells[a].push_back(said ? matrix_.cells[b][a]
                                        : SmiMatrix::Cell{a == b ? SmiMatrix::Path::self : SmiMatrix::Path::sys, 0});
      }
    }
  }

  void finish() {
    if (matrix_.gpus() == 0)
      return refuse(lines_.whole(), "no heading with GPU0 was found",
                    "the text that `nvidia-smi topo -m` prints, or what NCCL_TOPO_DUMP_FILE writes (XML)");
    fill_nics();
    for (std::size_t a = 0; a < matrix_.devices.size(); ++a) {
      const SmiMatrix::Device& device = matrix_.devices[a];
      if (matrix_.cells[a].empty()) {
        refuse(device.place, fmt::format("there is no row of {}", spec::shown(device.name)),
               "one row for each device of the heading");
        continue;
      }
      for (std::size_t b = 0; b < a; ++b)
        if (!matrix_.cells[b].empty() && (device.is_gpu || matrix_.devices[b].is_gpu) &&
            (matrix_.cells[a][b].path != matrix_.cells[b][a].path ||
             matrix_.cells[a][b].links != matrix_.cells[b][a].links))
          refuse(device.place,
                 fmt::format("{} to {} and back are not the same", spec::shown(device.name),
                             spec::shown(matrix_.devices[b].name)),
                 "the matrix is the same above and below its diagonal");
    }
  }

  spec::Diagnostics& diagnostics_;
  Lines lines_;
  bool refused_;
  SmiMatrix matrix_;
};

}  // namespace

std::int64_t SmiMatrix::gpus() const {
  return std::count_if(devices.begin(), devices.end(), [](const Device& device) { return device.is_gpu; });
}

std::optional<SmiMatrix> read_smi_matrix(std::uint32_t source, spec::Diagnostics& diagnostics) {
  return MatrixReader(source, diagnostics).read();
}

}  // namespace weft::measured
