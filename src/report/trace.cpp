#include "report/trace.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <queue>
#include <tuple>

namespace weft::report {
namespace {

using schedule::FlowRecord;
using schedule::LinkRecord;
using schedule::LinkSample;
using schedule::RunResult;

constexpr int kFlowsProcess = 1;
constexpr int kLinksProcess = 2;

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The format counts in microseconds; six decimals keep the picosecond.
std::string microseconds_text(std::int64_t ps) { return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000); }

class Events {
 public:
  explicit Events(std::ostream& out) : out_(out) { out_ << R"({"displayTimeUnit":"ns","traceEvents":[)"; }
  ~Events() { out_ << "\n]}\n"; }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void name_process(int process, std::string_view name) {
    write(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"{}"}}}})", process, name);
  }
  void name_track(int process, std::uint64_t track, const std::string& name) {
    write(R"({{"ph":"M","pid":{0},"tid":{1},"name":"thread_name","args":{{"name":{2}}}}})", process, track,
          quoted(name));
    write(R"({{"ph":"M","pid":{0},"tid":{1},"name":"thread_sort_index","args":{{"sort_index":{1}}}}})", process, track);
  }
  void slice(std::uint64_t track, const std::string& name, std::int64_t start, std::int64_t end,
             const std::string& arguments) {
    write(R"({{"ph":"X","pid":{},"tid":{},"name":{},"ts":{},"dur":{},"args":{{{}}}}})", kFlowsProcess, track,
          quoted(name), microseconds_text(start), microseconds_text(end - start), arguments);
  }
  void counter(const std::string& name, std::string_view unit, std::int64_t time, double value) {
    write(R"({{"ph":"C","pid":{},"name":{},"ts":{},"args":{{"{}":{:.6g}}}}})", kLinksProcess, quoted(name),
          microseconds_text(time), unit, value);
  }
  void instant(std::uint64_t track, const std::string& name, std::int64_t time) {
    write(R"({{"ph":"i","s":"t","pid":{},"tid":{},"name":{},"ts":{}}})", kLinksProcess, track, quoted(name),
          microseconds_text(time));
  }

 private:
  template <class... T>
  void write(fmt::format_string<T...> format, T&&... values) {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    fmt::print(out_, format, std::forward<T>(values)...);
  }
  std::ostream& out_;
  bool first_ = true;
};

using RankName = std::function<std::string(std::uint32_t)>;

std::int64_t end_of(const FlowRecord& flow, std::int64_t run_end) {
  return std::max(flow.start.count(), is_done(flow) ? done_at(flow).count() : run_end);
}

// The last moment anything in the run has to do with; flows that are not done are drawn until then.
std::int64_t last_moment(const RunResult& result) {
  std::int64_t last = result.end.count();
  for (const FlowRecord& flow : result.flows) last = std::max({last, flow.start.count(), flow.received.count()});
  for (const LinkSample& sample : result.samples) last = std::max(last, sample.time.count());
  return last;
}

std::string arguments_of(const FlowRecord& flow, const RankName& rank_name) {
  std::string text = fmt::format(R"("bytes":{},"peer":{})", flow.bytes, quoted(rank_name(flow.destination)));
  if (const auto slow = slowdown(flow)) text += fmt::format(R"(,"slowdown":{:.3f})", static_cast<double>(*slow) / 1000);
  if (!is_done(flow)) text += R"(,"done":false)";
  return text;
}

// The tracks of one sender. A flow gets the first that is free, so that slices never overlap: viewers draw an
// overlap as nesting, which would say something that is not so.
class Tracks {
 public:
  explicit Tracks(std::uint64_t first) : first_(first) {}
  std::uint64_t behind() const { return first_ + used_; }

  // The track of a flow; flows come in the order of their starts.
  std::uint64_t take(std::int64_t start, std::int64_t end) {
    for (; !busy_.empty() && busy_.top().first <= start; busy_.pop()) free_.push(busy_.top().second);
    std::uint64_t track = behind();
    if (free_.empty()) {
      ++used_;
    } else {
      track = free_.top();
      free_.pop();
    }
    busy_.emplace(end, track);
    return track;
  }

 private:
  template <class T>
  using Smallest = std::priority_queue<T, std::vector<T>, std::greater<>>;
  std::uint64_t first_;
  std::uint64_t used_ = 0;
  Smallest<std::pair<std::int64_t, std::uint64_t>> busy_;  // (end, track)
  Smallest<std::uint64_t> free_;
};

void write_flows(const RunResult& result, const RankName& rank_name, Events& events) {
  const std::int64_t run_end = last_moment(result);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < result.flows.size(); ++i)
    if (result.flows[i].start != schedule::kNotYet) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const FlowRecord& x = result.flows[a];
    const FlowRecord& y = result.flows[b];
    return std::tie(x.source, x.start, a) < std::tie(y.source, y.start, b);
  });
  Tracks tracks(1);
  std::uint64_t sender_track = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const FlowRecord& flow = result.flows[order[i]];
    if (i > 0 && flow.source != result.flows[order[i - 1]].source) {
      sender_track = tracks.behind();
      tracks = Tracks(sender_track);
    }
    const std::int64_t end = end_of(flow, run_end);
    const std::uint64_t known = tracks.behind();
    const std::uint64_t track = tracks.take(flow.start.count(), end);
    if (track == known) {
      const std::string sender = rank_name(flow.source);
      events.name_track(kFlowsProcess, track,
                        track == sender_track ? sender : fmt::format("{} ({})", sender, track - sender_track + 1));
    }
    events.slice(track, "to " + rank_name(flow.destination), flow.start.count(), end, arguments_of(flow, rank_name));
  }
}

void write_links(const RunInfo& info, const RunResult& result, Events& events) {
  constexpr std::int64_t kNever = -1;
  std::vector<std::int64_t> shown_until(result.links.size(), kNever);  // end of the link's last interval
  const auto label = [&](std::uint32_t link) {
    return fmt::format("{} to {}", result.links[link].from, result.links[link].to);
  };
  const auto count = [&](std::uint32_t link, std::int64_t time, std::int64_t queue, double used) {
    events.counter(label(link) + " queue", "bytes", time, static_cast<double>(queue));
    events.counter(label(link) + " utilisation", "percent", time, used * 100);
  };
  for (const LinkSample& sample : result.samples) {
    std::int64_t& until = shown_until[sample.link];
    // Intervals in which nothing happened are left out of the samples; the counter falls to zero there.
    if (until != kNever && until < sample.time.count()) count(sample.link, until, 0, 0);
    until = (sample.time + info.sample_interval).count();
    count(sample.link, sample.time.count(), sample.peak_bytes,
          utilisation(sample.bytes, result.links[sample.link].rate, info.sample_interval));
  }
  for (std::uint32_t link = 0; link < shown_until.size(); ++link)
    if (shown_until[link] != kNever) count(link, shown_until[link], 0, 0);
  std::vector<bool> named(result.links.size());
  for (const LinkSample& sample : result.samples) {
    if (sample.dropped + sample.lost == 0) continue;
    if (!named[sample.link]) events.name_track(kLinksProcess, sample.link + 1, label(sample.link));
    named[sample.link] = true;
    if (sample.dropped > 0)
      events.instant(sample.link + 1, fmt::format("{} dropped", sample.dropped), sample.time.count());
    if (sample.lost > 0) events.instant(sample.link + 1, fmt::format("{} lost", sample.lost), sample.time.count());
  }
}

}  // namespace

void write_trace(const RunInfo& info, const RunResult& result, const RankName& rank_name, std::ostream& out) {
  Events events(out);
  events.name_process(kFlowsProcess, "flows");
  if (!result.samples.empty()) events.name_process(kLinksProcess, "links");
  write_flows(result, rank_name, events);
  write_links(info, result, events);
}

}  // namespace weft::report
