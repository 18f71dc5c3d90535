#include "spec/codes.hpp"

#include <algorithm>
#include <cctype>

namespace weft::spec {
namespace {

constexpr ErrorInfo kErrors[] = {
#define WEFT_X(name, code, title, text) {code, title, text},
    WEFT_COMPLAINTS(WEFT_X)
#undef WEFT_X
};

}  // namespace

std::span<const ErrorInfo> all_errors() { return kErrors; }

const ErrorInfo& info(Error error) { return kErrors[static_cast<std::size_t>(error)]; }

const ErrorInfo* find_error(std::string_view code) {
  const auto same = [&](const ErrorInfo& candidate) {
    return std::equal(code.begin(), code.end(), candidate.code.begin(), candidate.code.end(),
                      [](unsigned char a, unsigned char b) { return std::toupper(a) == b; });
  };
  const auto found = std::find_if(std::begin(kErrors), std::end(kErrors), same);
  return found == std::end(kErrors) ? nullptr : found;
}

}  // namespace weft::spec
