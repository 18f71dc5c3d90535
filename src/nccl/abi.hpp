#pragma once
// NCCL's interface for network plugins, versions 8 to 11, as NCCL's documentation of the net plugin describes it. NCCL
// looks for a table named ncclNetPlugin_vN, the highest that it knows first: 2.19 and 2.20 take version 8, 2.21 to 2.25
// version 9, 2.26 and 2.27 version 10, 2.28 version 11.
//
// What differs: 9 has sizes of 64 bits, limits of a transfer and NICs made of several; 10 hands a profiler and a
// traffic class; 11 has a context for each communicator.

#include <cstddef>
#include <cstdint>

namespace weft::nccl {

enum Status : int {
  kSuccess = 0,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
};

inline constexpr int kLogWarn = 2;
inline constexpr int kLogInfo = 3;
inline constexpr unsigned long kLogNet = 16;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using Profiler = int (*)(void** event, int type, void* parent, std::int64_t plugin, void* extra);

inline constexpr int kHostMemory = 1;  // of the kinds of memory that a NIC can reach; 2 is the GPU's, 4 by dma-buf
inline constexpr std::size_t kHandleBytes = 128;

struct PropertiesV8 {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int memory;
  int registered_for_all;
  int speed;  // Mb/s
  int port;
  float latency;
  int most_comms;
  int most_receives;
  int device_type;
  int device_version;
};

struct VirtualDevice {
  int count;
  int devices[4];
};

struct PropertiesV9 {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int memory;
  int registered_for_all;
  int force_flush;
  int speed;
  int port;
  float latency;
  int most_comms;
  int most_receives;
  int device_type;
  int device_version;
  VirtualDevice parts;
  std::size_t most_bytes;
  std::size_t most_bytes_of_collectives;
};

struct PropertiesV11 : PropertiesV9 {
  int most_requests_together;
};

struct CommConfig {
  int traffic_class;
};
struct CommAttributes {
  std::int32_t most_peers, least_peers, most_flows, least_flows;
};
struct Attributes {
  CommAttributes send, receive;
  std::uint32_t operation, algorithm, protocol;
};
struct DeviceHandle;  // of networks that the GPU drives itself

struct TableV8 {
  const char* name;
  int (*init)(Logger);
  int (*devices)(int*);
  int (*get_properties)(int, PropertiesV8*);
  int (*listen)(int, void* handle, void** listener);
  int (*connect)(int, void* handle, void** sender, DeviceHandle**);
  int (*accept)(void* listener, void** receiver, DeviceHandle**);
  int (*register_memory)(void* comm, void* data, std::size_t size, int type, void** memory);
  int (*register_dma_buf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                          void** memory);
  int (*deregister)(void* comm, void* memory);
  int (*send)(void* sender, void* data, int size, int tag, void* memory, void** request);
  int (*receive)(void* receiver, int n, void** data, int* sizes, int* tags, void** memory, void** request);
  int (*flush)(void* receiver, int n, void** data, int* sizes, void** memory, void** request);
  int (*test)(void* request, int* done, int* sizes);
  int (*close_sender)(void*);
  int (*close_receiver)(void*);
  int (*close_listener)(void*);
  int (*get_device_memory)(void* comm, void* memory, void** device_memory);
  int (*received_by_device)(void* receiver, int n, void* request);
};

struct TableV9 {
  const char* name;
  int (*init)(Logger);
  int (*devices)(int*);
  int (*get_properties)(int, PropertiesV9*);
  int (*listen)(int, void* handle, void** listener);
  int (*connect)(int, void* handle, void** sender, DeviceHandle**);
  int (*accept)(void* listener, void** receiver, DeviceHandle**);
  int (*register_memory)(void* comm, void* data, std::size_t size, int type, void** memory);
  int (*register_dma_buf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                          void** memory);
  int (*deregister)(void* comm, void* memory);
  int (*send)(void* sender, void* data, std::size_t size, int tag, void* memory, void** request);
  int (*receive)(void* receiver, int n, void** data, std::size_t* sizes, int* tags, void** memory, void** request);
  int (*flush)(void* receiver, int n, void** data, int* sizes, void** memory, void** request);
  int (*test)(void* request, int* done, int* sizes);
  int (*close_sender)(void*);
  int (*close_receiver)(void*);
  int (*close_listener)(void*);
  int (*get_device_memory)(void* comm, void* memory, void** device_memory);
  int (*received_by_device)(void* receiver, int n, void* request);
  int (*make_virtual_device)(int*, VirtualDevice*);
};

struct TableV10 {
  const char* name;
  int (*init)(Logger, Profiler);
  int (*devices)(int*);
  int (*get_properties)(int, PropertiesV9*);
  int (*listen)(int, void* handle, void** listener);
  int (*connect)(int, CommConfig*, void* handle, void** sender, DeviceHandle**);
  int (*accept)(void* listener, void** receiver, DeviceHandle**);
  int (*register_memory)(void* comm, void* data, std::size_t size, int type, void** memory);
  int (*register_dma_buf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                          void** memory);
  int (*deregister)(void* comm, void* memory);
  int (*send)(void* sender, void* data, std::size_t size, int tag, void* memory, void* event, void** request);
  int (*receive)(void* receiver, int n, void** data, std::size_t* sizes, int* tags, void** memory, void** events,
                 void** request);
  int (*flush)(void* receiver, int n, void** data, int* sizes, void** memory, void** request);
  int (*test)(void* request, int* done, int* sizes);
  int (*close_sender)(void*);
  int (*close_receiver)(void*);
  int (*close_listener)(void*);
  int (*get_device_memory)(void* comm, void* memory, void** device_memory);
  int (*received_by_device)(void* receiver, int n, void* request);
  int (*make_virtual_device)(int*, VirtualDevice*);
};

struct TableV11 {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, CommConfig*, Logger, Profiler);
  int (*devices)(int*);
  int (*get_properties)(int, PropertiesV11*);
  int (*listen)(void* context, int, void* handle, void** listener);
  int (*connect)(void* context, int, void* handle, void** sender, DeviceHandle**);
  int (*accept)(void* listener, void** receiver, DeviceHandle**);
  int (*register_memory)(void* comm, void* data, std::size_t size, int type, void** memory);
  int (*register_dma_buf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                          void** memory);
  int (*deregister)(void* comm, void* memory);
  int (*send)(void* sender, void* data, std::size_t size, int tag, void* memory, void* event, void** request);
  int (*receive)(void* receiver, int n, void** data, std::size_t* sizes, int* tags, void** memory, void** events,
                 void** request);
  int (*flush)(void* receiver, int n, void** data, int* sizes, void** memory, void** request);
  int (*test)(void* request, int* done, int* sizes);
  int (*close_sender)(void*);
  int (*close_receiver)(void*);
  int (*close_listener)(void*);
  int (*get_device_memory)(void* comm, void* memory, void** device_memory);
  int (*received_by_device)(void* receiver, int n, void* request);
  int (*make_virtual_device)(int*, VirtualDevice*);
  int (*finalize)(void* context);
  int (*set_attributes)(void* context, Attributes*);
};

// What C lays out for the documented fields.
static_assert(sizeof(PropertiesV8) == 64 && sizeof(PropertiesV9) == 104 && sizeof(PropertiesV11) == 112);
static_assert(sizeof(TableV8) == 19 * 8 && sizeof(TableV9) == 20 * 8 && sizeof(TableV10) == 20 * 8 &&
              sizeof(TableV11) == 22 * 8);

}  // namespace weft::nccl
