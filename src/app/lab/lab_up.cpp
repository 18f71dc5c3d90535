#include <fmt/format.h>

#include <chrono>

#include "app/lab/lab_progress.hpp"
#include "app/lab/open_lab.hpp"
#include "app/render/origin.hpp"
#include "app/session.hpp"
#include "base/text.hpp"
#include "render/render.hpp"

namespace weft::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostMissing = 10;  // sessions named in an error

std::string hosts_text(const render::Addressing& addressing, const render::Origin& origin) {
  for (render::File& file : render::hosts_files(addressing, origin))
    if (file.path == "hosts/etc-hosts") return std::move(file.text);
  return "";
}

// What is not as planned, in words; empty: everything is.
std::string what_is_missing(const lab::Plan& plan, const lab::Status& status) {
  std::string text;
  std::size_t missing = 0;
  for (const lab::SessionStatus& session : status.sessions)
    if (!session.up && missing++ < kMostMissing)
      text += fmt::format("  no session from {} {} to {}: {}\n", plan.devices[session.device].name, session.interface,
                          session.peer, session.state);
  if (missing > kMostMissing) text += fmt::format("  and {} more\n", missing - kMostMissing);
  if (missing > 0) return text;
  std::size_t named = 0;
  for (std::size_t i = 0; i < plan.devices.size(); ++i)
    if (!status.devices[i].first_wrong.empty() && named++ < kMostMissing)
      text += fmt::format("  {} reaches {}\n", plan.devices[i].name, status.devices[i].first_wrong);
  return text;
}

int settle(const lab::Plan& plan, const lab::State& state, const LabUpOptions& options, Clock::time_point began,
           Console& console) {
  lab::Status status;
  {
    LabProgress progress(console);
    status = lab::wait_until_up(plan, state, std::chrono::seconds(options.timeout_s), progress.observer());
  }
  const LabOptions lab{plan.name, options.input.json};
  if (const std::string missing = what_is_missing(plan, status); !missing.empty())
    return refuse_lab(lab,
                      fmt::format("lab {} is not as planned after {} s:\n{}it stays, to be looked at: weft lab status; "
                                  "weft lab down",
                                  plan.name, options.timeout_s, missing),
                      kExpectationFailed, console);
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  console.err << fmt::format(
      "lab {} is up after {:.1f} s: {}, {} of {} for {}, {} up, equal paths as planned on every device\n", plan.name,
      seconds, counted(static_cast<std::int64_t>(plan.devices.size()), "device"),
      counted(static_cast<std::int64_t>(plan.links.size()), "link"), exact(plan.rate), exact(plan.planned),
      counted(static_cast<std::int64_t>(plan.links.size()), "session"));
  return kFine;
}

}  // namespace

int lab_up(const LabUpOptions& options, Console& console) {
  const Clock::time_point began = Clock::now();
  const Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  LabOptions lab{lab::lab_name(options.lab.empty() ? session.cluster().name : options.lab), options.input.json};
  const auto refuse = [&](const std::string& text, int code) { return refuse_lab(lab, text, code, console); };
  if (!options.lab.empty() && lab.lab != options.lab)
    return refuse(fmt::format("'{}' is no name for a lab; '{}' would be", options.lab, lab.lab), kYourInput);

  Bandwidth rate = lab::kDefaultRate;
  if (!options.rate.empty()) {
    const auto given = parse<BandwidthDimension>(options.rate);
    if (!given) return refuse(fmt::format("'{}' is no rate; 500Mbps is one", options.rate), kYourInput);
    rate = *given;
  }
  const render::Origin origin = origin_of(session, options.input);
  // Refuses what BGP cannot do, as `weft render frr` does.
  const auto files = render::render(render::Target::frr, session.fabric(), {}, origin);
  if (!files) return refuse(fmt::format("{}; {}", files.error().what, files.error().help), kYourInput);
  const auto addressing = render::Addressing::of(session.fabric());
  if (!addressing) return refuse(addressing.error().what, kYourInput);
  const auto plan = lab::plan_lab(*addressing, lab.lab, rate);
  if (!plan) return refuse(fmt::format("{}; {}", plan.error().what, plan.error().help), kYourInput);

  if (const std::string why = lab::why_not_here(plan->devices.size()); !why.empty()) return refuse(why, kThisMachine);
  auto state = lab::State::create(lab.lab);
  if (!state) return refuse(state.error(), kYourInput);
  std::string failed;
  {
    LabProgress progress(console);
    failed = lab::make(*plan, *files, hosts_text(*addressing, origin), *state, progress.observer());
  }
  if (!failed.empty()) {
    const std::string left = lab::remove(*state);
    return refuse(fmt::format("{}\n{}", failed, left.empty() ? "what was made is removed again" : left), kThisMachine);
  }
  return settle(*plan, *state, options, began, console);
}

}  // namespace weft::app
