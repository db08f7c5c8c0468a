// One subscriber, and what it is told.
#include "cupti/client.hpp"

#include <cstring>

using namespace simgpu;

namespace {

CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* user_data,
                      const char* name) {
  if (handle == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(client().mutex);
  if (client().subscriber.load() != nullptr) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  auto& fresh = client().subscribers.emplace_back(
      CUpti_Subscriber_st{callback, user_data, name == nullptr ? "" : name});
  client().subscriber.store(&fresh);
  *handle = &fresh;
  observe_if_needed();
  return CUPTI_SUCCESS;
}

void disable_all() {
  for (auto& domain : client().enabled) {
    for (auto& each : domain)
      each.store(false, std::memory_order_release);
  }
}

bool is_current(CUpti_SubscriberHandle handle) {
  return handle != nullptr && client().subscriber.load() == handle;
}

bool exists(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return id != 0 && id < callback_ids(domain);
}

void enable_domain(CUpti_CallbackDomain domain, bool on) {
  for (std::size_t id = 1; id < callback_ids(domain); ++id) {
    client().enabled[domain][id].store(on, std::memory_order_release);
  }
}

}  // namespace

namespace simgpu {

CUptiResult& last_cupti_error() {
  thread_local CUptiResult error = CUPTI_SUCCESS;
  return error;
}

}  // namespace simgpu

SIMGPU_CALL(cuptiSubscribe, subscriber, callback, user_data) {
  return subscribe(subscriber, callback, user_data, nullptr);
}

SIMGPU_CALL(cuptiSubscribe_v2, subscriber, callback, user_data, parameters) {
  if (parameters != nullptr && parameters->structSize < CUpti_SubscriberParams_STRUCT_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  // cupti_callbacks.h, subscriberName: "the CUPTI library automatically adds it as "CUPTI for
  // <subscriberName>"".
  std::string name = "CUPTI for ";
  if (parameters != nullptr && parameters->subscriberName != nullptr) {
    name.append(parameters->subscriberName,
                strnlen(parameters->subscriberName, CUPTI_SUBSCRIBER_NAME_MAX_LEN));
  }
  const CUptiResult result = subscribe(subscriber, callback, user_data, name.c_str());
  const auto* holder = client().subscriber.load();
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && holder != nullptr &&
      parameters != nullptr && parameters->oldSubscriberName != nullptr &&
      parameters->oldSubscriberSize > 0) {
    const auto length =
        holder->name.copy(parameters->oldSubscriberName, parameters->oldSubscriberSize - 1);
    parameters->oldSubscriberName[length] = '\0';
  }
  return result;
}

SIMGPU_CALL(cuptiUnsubscribe, subscriber) {
  if (!is_current(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  disable_all();
  client().subscriber.store(nullptr);
  observe_if_needed();
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiFinalize) {
  disable_all();
  client().subscriber.store(nullptr);
  client().collects_kernels.store(false);
  observe_if_needed();
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiEnableCallback, enable, subscriber, domain, id) {
  if (!is_current(subscriber) || !exists(domain, id)) return CUPTI_ERROR_INVALID_PARAMETER;
  client().enabled[domain][id].store(enable != 0, std::memory_order_release);
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiEnableDomain, enable, subscriber, domain) {
  if (!is_current(subscriber) || callback_ids(domain) == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  enable_domain(domain, enable != 0);
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiEnableAllDomains, enable, subscriber) {
  if (!is_current(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    enable_domain(static_cast<CUpti_CallbackDomain>(domain), enable != 0);
  }
  return CUPTI_SUCCESS;
}

SIMGPU_CALL(cuptiGetCallbackState, enable, subscriber, domain, id) {
  if (enable == nullptr || !is_current(subscriber) || !exists(domain, id)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *enable = client().enabled[domain][id].load() ? 1 : 0;
  return CUPTI_SUCCESS;
}

// Names of what is told only.
SIMGPU_CALL(cuptiGetCallbackName, domain, id, name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = domain == CUPTI_CB_DOMAIN_DRIVER_API ? call_name(id) : nullptr;
  return *name != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

SIMGPU_CALL(cuptiGetVersion, version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetLastError() {
  const CUptiResult error = last_cupti_error();
  last_cupti_error() = CUPTI_SUCCESS;
  return error;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
#define SIMGPU_NAME(code) \
  case code:              \
    *text = #code;        \
    return CUPTI_SUCCESS;
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (result) {
    SIMGPU_NAME(CUPTI_SUCCESS)
    SIMGPU_NAME(CUPTI_ERROR_INVALID_PARAMETER)
    SIMGPU_NAME(CUPTI_ERROR_INVALID_CONTEXT)
    SIMGPU_NAME(CUPTI_ERROR_INVALID_OPERATION)
    SIMGPU_NAME(CUPTI_ERROR_OUT_OF_MEMORY)
    SIMGPU_NAME(CUPTI_ERROR_MAX_LIMIT_REACHED)
    SIMGPU_NAME(CUPTI_ERROR_NOT_INITIALIZED)
    SIMGPU_NAME(CUPTI_ERROR_INVALID_STREAM)
    SIMGPU_NAME(CUPTI_ERROR_INVALID_KIND)
    SIMGPU_NAME(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    SIMGPU_NAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    SIMGPU_NAME(CUPTI_ERROR_UNKNOWN)
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
#undef SIMGPU_NAME
}
