#include "spec/codes.hpp"

#include <algorithm>
#include <cctype>

namespace weft::spec {
namespace {

constexpr ComplaintInfo kComplaints[] = {
#define WEFT_X(name, code, title, text) {code, title, text},
    WEFT_COMPLAINTS(WEFT_X)
#undef WEFT_X
};

}  // namespace

std::span<const ComplaintInfo> all_complaints() { return kComplaints; }

const ComplaintInfo& info(Complaint complaint) { return kComplaints[static_cast<std::size_t>(complaint)]; }

const ComplaintInfo* find_complaint(std::string_view code) {
  const auto same = [&](const ComplaintInfo& candidate) {
    return std::equal(code.begin(), code.end(), candidate.code.begin(), candidate.code.end(),
                      [](unsigned char a, unsigned char b) { return std::toupper(a) == b; });
  };
  const auto found = std::find_if(std::begin(kComplaints), std::end(kComplaints), same);
  return found == std::end(kComplaints) ? nullptr : found;
}

}  // namespace weft::spec
