#include "sim/packet/samples.hpp"

#include <algorithm>

#include "base/wide.hpp"

namespace weft::sim {

using schedule::LinkSample;

void Samples::coarsen(std::int64_t interval) {
  interval_ = std::max(interval_, interval);
  std::size_t kept = 0;
  for (const LinkSample& each : rows_) {
    const std::int64_t start = (each.time / interval_ * interval_).count();
    if (kept == 0 || rows_[kept - 1].time.count() != start) {
      rows_[kept] = each;
      rows_[kept++].time = Duration(start);
      continue;
    }
    LinkSample& whole = rows_[kept - 1];
    whole.peak_bytes = std::max(whole.peak_bytes, each.peak_bytes);
    whole.bytes += each.bytes;
    whole.packets += each.packets;
    whole.marked += each.marked;
    whole.trimmed += each.trimmed;
    whole.dropped += each.dropped;
    whole.lost += each.lost;
  }
  rows_.resize(kept);
}

LinkSample& Samples::at(std::int64_t time) {
  while (rows_.size() > most_) coarsen(2 * interval_);
  const std::int64_t start = time / interval_ * interval_;
  if (!rows_.empty() && rows_.back().time.count() == start) return rows_.back();
  auto place = rows_.end();
  if (!rows_.empty() && rows_.back().time.count() > start)
    place = std::lower_bound(rows_.begin(), rows_.end(), start,
                             [](const LinkSample& row, std::int64_t begin) { return row.time.count() < begin; });
  if (place != rows_.end() && place->time.count() == start) return *place;
  LinkSample fresh;
  fresh.time = Duration(start);
  return *rows_.insert(place, fresh);
}

void Samples::peak(std::int64_t now, std::int64_t bytes) {
  LinkSample& row = at(now);
  row.peak_bytes = std::max(row.peak_bytes, bytes);
}

// What has waited since it was last said is in every interval that has begun meanwhile.
void Samples::look(std::int64_t until) {
  if (until <= seen_) return;
  if (waiting_ > 0) {
    for (std::int64_t start = (seen_ / interval_ + 1) * interval_; start <= until && start < gone_;
         start += interval_) {
      const std::int64_t left =
          gone_ == kStands
              ? waiting_
              : static_cast<std::int64_t>(static_cast<Wide>(waiting_) * (gone_ - start) / (gone_ - since_));
      peak(start, left);
    }
  }
  seen_ = until;
}

void Samples::queue(std::int64_t now, std::int64_t bytes, std::int64_t gone) {
  look(now);
  if (bytes > 0) peak(now, bytes);
  if (now < seen_) return;  // it came out of order: what is known of later counts
  waiting_ = bytes;
  since_ = now;
  gone_ = gone;
}

void Samples::carry(std::int64_t begin, std::int64_t wire, std::int64_t bytes) {
  const std::int64_t end = begin + wire;
  std::int64_t counted = 0;
  for (std::int64_t from = begin; counted < bytes;) {
    const std::int64_t next = (from / interval_ + 1) * interval_;
    const std::int64_t left =
        next >= end ? bytes : static_cast<std::int64_t>(static_cast<Wide>(bytes) * (next - begin) / wire);
    at(from).bytes += static_cast<std::uint64_t>(left - counted);
    counted = left;
    from = next;
  }
}

const std::vector<LinkSample>& Samples::finish(std::int64_t end) {
  look(gone_ == kStands ? end : gone_);
  return rows_;
}

Samples part_of(const std::vector<LinkSample>& rows, std::int64_t interval, std::uint32_t links, std::uint32_t i) {
  Samples mine(interval, static_cast<std::uint32_t>(rows.size()));
  LinkSample sum;  // of all links until now
  for (const LinkSample& row : rows) {
    LinkSample& part = mine.at(row.time.count());
    const auto share = [&](auto& total, auto more) {
      const std::uint64_t before = part_of(total, links, i);
      total += more;
      return part_of(total, links, i) - before;
    };
    part.bytes = share(sum.bytes, row.bytes);
    part.packets = static_cast<std::uint32_t>(share(sum.packets, row.packets));
    part.marked = static_cast<std::uint32_t>(share(sum.marked, row.marked));
    part.dropped = static_cast<std::uint32_t>(share(sum.dropped, row.dropped));
    part.peak_bytes = row.peak_bytes / links;
  }
  return mine;
}

}  // namespace weft::sim
