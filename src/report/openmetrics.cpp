#include "report/openmetrics.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace weft::report {
namespace {

using schedule::LinkRecord;
using schedule::LinkSample;
using schedule::RunResult;

// Links by their ends; those beside each other are told apart.
std::vector<std::string> labels_of(const RunResult& result) {
  std::map<std::pair<std::string, std::string>, int> seen;
  std::vector<std::string> labels;
  for (const LinkRecord& link : result.links) {
    const int number = ++seen[{link.from, link.to}];
    labels.push_back(fmt::format("node=\"{}\",interface=\"{}{}\"", link.from, link.to,
                                 number > 1 ? fmt::format("#{}", number) : ""));
  }
  return labels;
}

class Page {
 public:
  Page(const RunInfo& info, const RunResult& result, std::ostream& out)
      : interval_(info.sample_interval), labels_(labels_of(result)), out_(out) {
    by_link_.resize(result.links.size());
    for (const LinkSample& sample : result.samples) by_link_[sample.link].push_back(&sample);
  }

  void interval() {
    out_ << fmt::format(
        "# TYPE weft_sim_interval_seconds gauge\n"
        "# HELP weft_sim_interval_seconds Simulated time that a second of these samples stands for.\n"
        "weft_sim_interval_seconds {} 0\n",
        static_cast<double>(interval_.count()) / 1e12);
  }

  // What was counted up to the end of an interval.
  template <class Value>
  void counter(const std::string& name, const std::string& help, Value value) {
    head(name, "counter", help);
    for (std::size_t link = 0; link < by_link_.size(); ++link) {
      std::uint64_t sum = 0;
      for (const LinkSample* sample : by_link_[link]) {
        sum += value(*sample);
        line(name + "_total", link, sum, sample->time.count() / interval_.count() + 1);
      }
    }
  }

  // What was seen within it; 0 where nothing was.
  template <class Value>
  void gauge(const std::string& name, const std::string& help, Value value) {
    head(name, "gauge", help);
    for (std::size_t link = 0; link < by_link_.size(); ++link) {
      std::int64_t next = 0;
      for (const LinkSample* sample : by_link_[link]) {
        const std::int64_t at = sample->time.count() / interval_.count() + 1;
        if (next != 0 && next < at) line(name, link, 0, next);
        line(name, link, value(*sample), at);
        next = at + 1;
      }
      if (next != 0) line(name, link, 0, next);
    }
  }

 private:
  void head(const std::string& name, const char* type, const std::string& help) {
    out_ << fmt::format("# TYPE {0} {1}\n# HELP {0} {2}\n", name, type, help);
  }
  template <class Value>
  void line(const std::string& name, std::size_t link, Value value, std::int64_t time) {
    out_ << fmt::format("{}{{{}}} {} {}\n", name, labels_[link], value, time);
  }

  Duration interval_;
  std::vector<std::string> labels_;
  std::ostream& out_;
  std::vector<std::vector<const LinkSample*>> by_link_;
};

}  // namespace

void write_openmetrics(const RunInfo& info, const RunResult& result, std::ostream& out) {
  Page page(info, result, out);
  page.interval();
  page.counter("weft_link_transmit_bytes", "Bytes sent.", [](const LinkSample& of) { return of.bytes; });
  page.counter("weft_link_drops", "Packets that found the queue full.",
               [](const LinkSample& of) { return of.dropped; });
  page.gauge("weft_queue_peak_bytes", "The most that waited at once.",
             [](const LinkSample& of) { return of.peak_bytes; });
  out << "# EOF\n";
}

}  // namespace weft::report
