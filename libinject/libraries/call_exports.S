// Exports the wrappers of call_list.h under the vendors' names.  Each is one jump, so that the
// return address stays the caller's: it decides which copy of the library is called.
//
// NVIDIA's libraries version their symbols by soname, and objects linked with them ask for that
// version.  Ours have the same versions, but never as the default (`@`, not `@@`): a look-up without
// a version, and a weak reference that was linked with no library, find what they would have found
// without us.  The version nodes are in exports.map.
#include "libraries/call_list.h"

#if defined(__x86_64__)
#define JUMP_THROUGH(pointer) jmp *pointer(%rip)
#else
#define JUMP_THROUGH(pointer) \
  adrp x16, pointer;          \
  ldr x16, [x16, :lo12:pointer]; \
  br x16
#endif

#define ENTRY(name)                                \
  .hidden inline_prof_call_##name;                 \
  .globl inline_prof_call_##name;                  \
  .type inline_prof_call_##name, %function;        \
  .p2align 4;                                      \
  inline_prof_call_##name:                         \
  .cfi_startproc;                                  \
  JUMP_THROUGH(inline_prof_export_of_##name);      \
  .cfi_endproc;                                    \
  .size inline_prof_call_##name, .-inline_prof_call_##name;

#define VERSION(name, tag, node)                   \
  .globl inline_prof_##tag##_##name;               \
  .type inline_prof_##tag##_##name, %function;     \
  .set inline_prof_##tag##_##name, inline_prof_call_##name; \
  .symver inline_prof_##tag##_##name, name##@##node, remove;

#define CUBLAS(name, ...)                  \
  ENTRY(name)                               \
  VERSION(name, v11, libcublas.so.11)      \
  VERSION(name, v12, libcublas.so.12)      \
  VERSION(name, v13, libcublas.so.13)

#define CUBLASLT(name, ...)                \
  ENTRY(name)                               \
  VERSION(name, v11, libcublasLt.so.11)    \
  VERSION(name, v12, libcublasLt.so.12)    \
  VERSION(name, v13, libcublasLt.so.13)

#define CUDNN(name, ...)                   \
  ENTRY(name)                               \
  VERSION(name, v8, libcudnn.so.8)         \
  VERSION(name, v9, libcudnn.so.9)

// NCCL's symbols have no versions.
#define NCCL(name, ...)                    \
  ENTRY(name)                               \
  .globl name;                             \
  .type name, %function;                   \
  .set name, inline_prof_call_##name;

        .text
        INLINE_PROF_CUBLAS_CALLS(CUBLAS)
        INLINE_PROF_CUBLASLT_CALLS(CUBLASLT)
        INLINE_PROF_CUDNN_CALLS(CUDNN)
        INLINE_PROF_NCCL_CALLS(NCCL)
#if defined(__aarch64__)
        .section .note.GNU-stack,"",%progbits
#else
        .section .note.GNU-stack,"",@progbits
#endif
