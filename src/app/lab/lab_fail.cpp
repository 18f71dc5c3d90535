#include <fmt/format.h>

#include <algorithm>

#include "app/lab/open_lab.hpp"

namespace weft::app {
namespace {

int change(OpenLab& lab, const std::vector<lab::Fault>& after, const LabOptions& options, Console& console) {
  if (const std::string why = lab::why_not_enter(); !why.empty())
    return refuse_lab(options, why, kThisMachine, console);
  const std::vector<lab::Fault> before = lab.state.faults();
  // First what is meant, then the machine: `heal` finds what was half done.
  if (!lab.state.save(after)) return refuse_lab(options, "cannot write the lab's folder", kThisMachine, console);
  if (const std::string failed = lab::apply_faults(lab.plan, before, after); !failed.empty())
    return refuse_lab(options, failed, kThisMachine, console);
  return kFine;
}

}  // namespace

int lab_fail(const LabFaultOptions& options, Console& console) {
  auto lab = open_lab(options.lab, lab::State::Access::changing, console);
  if (!lab) return kYourInput;
  const auto fault = lab::parse_fault(lab->plan, options.words);
  if (!fault) return refuse_lab(options.lab, fault.error(), kYourInput, console);
  std::vector<lab::Fault> faults = lab->state.faults();
  std::erase_if(faults,
                [&](const lab::Fault& other) { return other.what == fault->what && other.name == fault->name; });
  faults.push_back(*fault);
  if (const int code = change(*lab, faults, options.lab, console); code != kFine) return code;
  console.err << fmt::format("{}, {} of the lab's {} links\n", fault->text(), fault->links.size(),
                             lab->plan.links.size());
  return kFine;
}

int lab_heal(const LabFaultOptions& options, Console& console) {
  auto lab = open_lab(options.lab, lab::State::Access::changing, console);
  if (!lab) return kYourInput;
  if (options.words.size() == 1)
    return refuse_lab(options.lab, "heal what? link, switch or nic and its name; nothing: everything", kYourInput,
                      console);
  std::vector<lab::Fault> kept = lab->state.faults();
  std::vector<std::string> healed;
  std::erase_if(kept, [&](const lab::Fault& fault) {
    const bool meant = options.words.empty() || same_place(fault, options.words[0], options.words[1]);
    if (meant) healed.push_back(fault.text());
    return meant;
  });
  if (healed.empty()) return refuse_lab(options.lab, "nothing of that is broken", kYourInput, console);
  if (const int code = change(*lab, kept, options.lab, console); code != kFine) return code;
  console.err << fmt::format("healed: {}\n", fmt::join(healed, "; "));
  return kFine;
}

}  // namespace weft::app
