#include "app/render/origin.hpp"

#include <fmt/format.h>

#include "app/build_info.hpp"
#include "experiment/fingerprint.hpp"

namespace weft::app {

render::Origin origin_of(const Session& session, const InputOptions& input) {
  const spec::Sources& sources = session.design().diagnostics().sources();
  experiment::Fingerprint fingerprint;
  if (const std::uint32_t file = session.design().source(); file != 0) fingerprint.add(sources.text(file));
  for (const std::string& change : input.set) fingerprint.add(change);
  fingerprint.add(input.catalog);
  return {build_info().version, session.cluster().name, fmt::format("{:016x}", fingerprint.value())};
}

}  // namespace weft::app
