// What names a simulated device: the driver and NVML say the same.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace simgpu {

inline std::array<unsigned char, 16> device_uuid(int device) {
  std::array<unsigned char, 16> uuid{'s', 'i', 'm', 'g', 'p', 'u', 0x40, 0, 0x80};
  uuid[15] = static_cast<unsigned char>(device);
  return uuid;
}

inline unsigned device_pci_bus(int device) {
  return static_cast<unsigned>(device + 1) & 0xffU;
}

// "[domain]:[bus]:[device].[function]" with `domain_digits` for the domain.
inline std::string device_pci_bus_id(int device, int domain_digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*x:%02x:00.0", domain_digits, 0U, device_pci_bus(device));
  return text;
}

}  // namespace simgpu
