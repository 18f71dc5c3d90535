// NCCL's tables, and the way from NCCL's words to the engine's. NCCL loads the library, takes the newest table that it
// knows, and calls it from several threads.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "endpoint/interfaces.hpp"
#include "nccl/abi.hpp"
#include "nccl/engine.hpp"

namespace weft::nccl {
namespace {

constexpr int kUnknownSpeed = 10000;  // Mb/s: what NCCL takes for sockets where the kernel does not say
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::size_t kEngines = 4;  // of a NIC: as many cores can copy for it

Logger logger = nullptr;

template <class... Arguments>
void log(int level, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (logger == nullptr) return;
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  logger(level, kLogNet, "weft", 0, "NET/weft : %s", text.c_str());
}

template <class... Arguments>
int failure(Status status, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  log(kLogWarn, format, std::forward<Arguments>(arguments)...);
  return status;
}

// ---- NICs

struct Device {
  std::string name;
  std::string pci_path;
  net::Address address;
  int speed = kUnknownSpeed;
  std::vector<std::unique_ptr<Engine>> engines;
  std::size_t turn = 0;
};

std::string pci_path_of(const std::string& interface) {
  char* const path = realpath(fmt::format("/sys/class/net/{}/device", interface).c_str(), nullptr);
  const std::string found = path != nullptr ? path : "";
  std::free(path);
  return found;
}

int speed_of(const std::string& interface) {
  int speed = 0;
  std::ifstream(fmt::format("/sys/class/net/{}/speed", interface)) >> speed;
  return speed > 0 ? speed : kUnknownSpeed;
}

Device device_at(const endpoint::Interface& interface) {
  Device device;
  device.name = interface.name.empty() ? interface.address.host() : interface.name;
  device.address = interface.address;
  device.address.set_port(0);
  if (interface.name.empty()) return device;
  device.pci_path = pci_path_of(interface.name);
  device.speed = speed_of(interface.name);
  return device;
}

class Devices {
 public:
  // An engine's thread and its peers are this process's; a fork has neither.
  ~Devices() {
    if (getpid() == process_) return;
    for (Device& each : all_)
      for (std::unique_ptr<Engine>& engine : each.engines) (void)engine.release();
  }
  int find() {
    const std::lock_guard guard(lock_);
    if (!all_.empty()) return kSuccess;
    const char* wanted = std::getenv("WEFT_NCCL_IFACE");
    std::string rest = wanted != nullptr ? wanted : "";
    while (!rest.empty()) {
      const std::string name = rest.substr(0, rest.find(','));
      rest.erase(0, name.size() + 1);
      auto found = endpoint::interface_named(name, AF_INET);
      if (!found) found = endpoint::interface_named(name, AF_INET6);
      if (!found) {
        all_.clear();
        return failure(kInvalidUsage, "WEFT_NCCL_IFACE names no interface or address that is up: {}", name);
      }
      all_.push_back(device_at(*found));
    }
    if (all_.empty()) all_.push_back(device_at(endpoint::usual_interface(AF_INET)));
    for (const Device& each : all_) log(kLogInfo, "{} at {}, {} Mb/s", each.name, each.address.host(), each.speed);
    return kSuccess;
  }
  int count() {
    const std::lock_guard guard(lock_);
    return static_cast<int>(all_.size());
  }
  Device* at(int index) {
    const std::lock_guard guard(lock_);
    return index >= 0 && static_cast<std::size_t>(index) < all_.size() ? &all_[static_cast<std::size_t>(index)]
                                                                       : nullptr;
  }
  // Another each time, as long as there may be more.
  Engine* engine(int index) {
    Device* const device = at(index);
    if (device == nullptr) return nullptr;
    const std::lock_guard guard(lock_);
    if (device->engines.size() < kEngines) {
      auto opened = Engine::open(device->address, endpoint::sharing_of(std::getenv("WEFT_NCCL_SHM")));
      if (!opened) {
        log(kLogWarn, "{}", opened.error());
        return nullptr;
      }
      device->engines.push_back(std::move(*opened));
      log(kLogInfo, "{} takes packets at {}", device->name, device->engines.back()->address().text());
    }
    return device->engines[device->turn++ % device->engines.size()].get();
  }

 private:
  const pid_t process_ = getpid();
  std::mutex lock_;
  std::vector<Device> all_;
};

Devices& devices() {
  static Devices all;
  return all;
}

// ---- calls that all versions share

// What a listener's process tells the other by NCCL's own ways.
struct Handle {
  std::uint64_t magic;
  std::uint64_t listener;
  std::uint32_t length;
  std::uint8_t address[sizeof(sockaddr_in6)];
};
constexpr std::uint64_t kHandleMagic = 0x77656674'6e636331;
static_assert(sizeof(Handle) <= kHandleBytes);

int count_devices(int* count) {
  *count = devices().count();
  return kSuccess;
}

template <class Properties>
int get_properties(int index, Properties* out) {
  Device* const device = devices().at(index);
  if (device == nullptr) return failure(kInvalidArgument, "there is no NIC {}", index);
  *out = {};
  out->name = device->name.data();
  out->pci_path = device->pci_path.empty() ? nullptr : device->pci_path.data();
  out->guid = mix64(static_cast<std::uint64_t>(index) + 1);
  out->memory = kHostMemory;  // NCCL copies through pinned memory of its own
  out->registered_for_all = 1;
  out->speed = device->speed;
  out->port = 0;
  out->latency = 0;
  out->most_comms = 1 << 16;
  out->most_receives = 1;
  if constexpr (requires { out->parts; }) {
    out->parts.count = 1;
    out->parts.devices[0] = index;
    out->most_bytes = out->most_bytes_of_collectives = kMostBytes;
  }
  if constexpr (requires { out->most_requests_together; }) out->most_requests_together = 1;
  return kSuccess;
}

int listen(int index, void* to, void** listener) {
  Engine* const engine = devices().engine(index);
  if (engine == nullptr) return failure(kSystemError, "NIC {} cannot be used", index);
  Listener* const made = engine->listen();
  Handle handle{kHandleMagic, made->number, static_cast<std::uint32_t>(engine->address().length()), {}};
  std::memcpy(handle.address, engine->address().get(), handle.length);
  std::memset(to, 0, kHandleBytes);
  std::memcpy(to, &handle, sizeof handle);
  *listener = made;
  return kSuccess;
}

int connect(int index, void* from, void** sender, DeviceHandle**) {
  *sender = nullptr;
  Handle handle;
  std::memcpy(&handle, from, sizeof handle);
  if (handle.magic != kHandleMagic || (handle.length != sizeof(sockaddr_in) && handle.length != sizeof(sockaddr_in6)))
    return failure(kInvalidUsage, "the peer's handle is not of this plugin: all ranks need NCCL_NET_PLUGIN=weft");
  sockaddr_storage storage{};
  std::memcpy(&storage, handle.address, handle.length);
  const net::Address to(reinterpret_cast<const sockaddr*>(&storage), handle.length);
  Engine* const engine = devices().engine(index);
  if (engine == nullptr) return failure(kSystemError, "NIC {} cannot be used", index);
  if (to.family() != engine->address().family())
    return failure(kInvalidUsage, "{} cannot be reached from {}: another kind of address", to.text(),
                   engine->address().text());
  *sender = engine->connect(to, handle.listener);  // null: not now
  return kSuccess;
}

int accept(void* listener, void** receiver, DeviceHandle**) {
  auto& from = *static_cast<Listener*>(listener);
  *receiver = from.engine->accept(from);
  return kSuccess;
}

int register_memory(void*, void*, std::size_t, int type, void** memory) {
  *memory = nullptr;
  if (type != kHostMemory) return failure(kInvalidUsage, "memory of the GPU was offered, and only the host's is taken");
  static char any;
  *memory = &any;  // nothing is to be remembered of it
  return kSuccess;
}
int register_dma_buf(void*, void*, std::size_t, int, std::uint64_t, int, void** memory) {
  *memory = nullptr;
  return failure(kInvalidUsage, "a dma-buf was offered, and only memory of the host is taken");
}
int deregister(void*, void*) { return kSuccess; }

int lost(Channel& channel) { return failure(kRemoteError, "lost {}", channel.engine->why_lost(channel)); }

int send(void* comm, void* data, std::size_t bytes, void** request) {
  auto& channel = *static_cast<Channel*>(comm);
  *request = nullptr;
  if (channel.gone) return lost(channel);
  *request = channel.engine->send(channel, data, bytes);
  return kSuccess;
}

int receive(void* comm, int n, void* data, std::size_t bytes, void** request) {
  auto& channel = *static_cast<Channel*>(comm);
  *request = nullptr;
  if (n != 1) return failure(kInvalidUsage, "{} receives together, and one was offered", n);
  if (channel.gone) return lost(channel);
  *request = channel.engine->receive(channel, data, bytes);
  return kSuccess;
}

// What is in the host's memory is there as soon as it has arrived.
int flush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return kSuccess;
}

int test(void* what, int* done, int* sizes) {
  auto& request = *static_cast<Request*>(what);
  Channel& channel = *request.channel;
  *done = channel.engine->test(request) ? 1 : 0;
  if (*done == 0) return channel.gone ? lost(channel) : kSuccess;
  const transport::rdm::Error error = request.error;
  const std::uint64_t bytes = request.bytes;
  request.used = false;
  if (error == transport::rdm::Error::peer_lost) return lost(channel);
  if (error != transport::rdm::Error::none)
    return failure(kInvalidUsage, "a message was longer than its receive of {} bytes", bytes);
  if (sizes != nullptr) *sizes = static_cast<int>(bytes);
  return kSuccess;
}

int close_channel(void* comm) {
  if (comm == nullptr) return kSuccess;
  auto* const channel = static_cast<Channel*>(comm);
  Engine& engine = *channel->engine;
  engine.close(channel);
  if (const std::string summary = engine.summary(); !summary.empty()) log(kLogInfo, "{}", summary);
  return kSuccess;
}
int close_listener(void* what) {
  if (what == nullptr) return kSuccess;
  auto* const listener = static_cast<Listener*>(what);
  listener->engine->close(listener);
  return kSuccess;
}

// ---- what differs

int init(Logger to) {
  logger = to;
  return devices().find();
}
int init_v10(Logger to, Profiler) { return init(to); }
int init_v11(void** context, std::uint64_t, CommConfig*, Logger to, Profiler) {
  static char any;
  *context = &any;  // communicators have nothing of their own
  return init(to);
}
int listen_v11(void*, int index, void* handle, void** listener) { return listen(index, handle, listener); }
int connect_v10(int index, CommConfig*, void* handle, void** sender, DeviceHandle** device) {
  return connect(index, handle, sender, device);
}
int connect_v11(void*, int index, void* handle, void** sender, DeviceHandle** device) {
  return connect(index, handle, sender, device);
}
int send_v8(void* comm, void* data, int bytes, int, void*, void** request) {
  return send(comm, data, static_cast<std::size_t>(bytes), request);
}
int send_v9(void* comm, void* data, std::size_t bytes, int, void*, void** request) {
  return send(comm, data, bytes, request);
}
int send_v10(void* comm, void* data, std::size_t bytes, int, void*, void*, void** request) {
  return send(comm, data, bytes, request);
}
int receive_v8(void* comm, int n, void** data, int* sizes, int*, void**, void** request) {
  return receive(comm, n, *data, static_cast<std::size_t>(*sizes), request);
}
int receive_v9(void* comm, int n, void** data, std::size_t* sizes, int*, void**, void** request) {
  return receive(comm, n, *data, *sizes, request);
}
int receive_v10(void* comm, int n, void** data, std::size_t* sizes, int*, void**, void**, void** request) {
  return receive(comm, n, *data, *sizes, request);
}
int finalize(void*) { return kSuccess; }
int set_attributes(void*, Attributes*) { return kSuccess; }

}  // namespace
}  // namespace weft::nccl

// NCCL finds the tables by these names.
using namespace weft::nccl;  // NOLINT: this file is nobody's header
#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))
// Names without a function are of networks that the GPU drives itself, and of NICs made of several.
WEFT_EXPORT const TableV8 ncclNetPlugin_v8 = {"weft",
                                              init,
                                              count_devices,
                                              get_properties<PropertiesV8>,
                                              listen,
                                              connect,
                                              accept,
                                              register_memory,
                                              register_dma_buf,
                                              deregister,
                                              send_v8,
                                              receive_v8,
                                              flush,
                                              test,
                                              close_channel,
                                              close_channel,
                                              close_listener,
                                              nullptr,
                                              nullptr};
WEFT_EXPORT const TableV9 ncclNetPlugin_v9 = {"weft",
                                              init,
                                              count_devices,
                                              get_properties<PropertiesV9>,
                                              listen,
                                              connect,
                                              accept,
                                              register_memory,
                                              register_dma_buf,
                                              deregister,
                                              send_v9,
                                              receive_v9,
                                              flush,
                                              test,
                                              close_channel,
                                              close_channel,
                                              close_listener,
                                              nullptr,
                                              nullptr,
                                              nullptr};
WEFT_EXPORT const TableV10 ncclNetPlugin_v10 = {"weft",
                                                init_v10,
                                                count_devices,
                                                get_properties<PropertiesV9>,
                                                listen,
                                                connect_v10,
                                                accept,
                                                register_memory,
                                                register_dma_buf,
                                                deregister,
                                                send_v10,
                                                receive_v10,
                                                flush,
                                                test,
                                                close_channel,
                                                close_channel,
                                                close_listener,
                                                nullptr,
                                                nullptr,
                                                nullptr};
WEFT_EXPORT const TableV11 ncclNetPlugin_v11 = {"weft",
                                                init_v11,
                                                count_devices,
                                                get_properties<PropertiesV11>,
                                                listen_v11,
                                                connect_v11,
                                                accept,
                                                register_memory,
                                                register_dma_buf,
                                                deregister,
                                                send_v10,
                                                receive_v10,
                                                flush,
                                                test,
                                                close_channel,
                                                close_channel,
                                                close_listener,
                                                nullptr,
                                                nullptr,
                                                nullptr,
                                                finalize,
                                                set_attributes};
