// As dlsym_x86_64.S, for 64-bit Arm.
#if defined(__aarch64__)
        .text
        .globl  dlsym
        .type   dlsym, %function
        .p2align 4
dlsym:
        .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset 29, -32
        .cfi_offset 30, -24
        stp     x0, x1, [sp, #16]
        mov     x29, sp
        mov     x2, x30                     // the application's return address says who asks
        bl      inline_prof_dlsym_filter    // x0: the answer, or x1: where to jump instead
        cbnz    x1, 1f
        ldp     x29, x30, [sp], #32
        .cfi_remember_state
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        ret
        .cfi_restore_state
1:      mov     x16, x1
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        br      x16                     // x16: a tail call through it is allowed under BTI
        .cfi_endproc
        .size   dlsym, .-dlsym
#endif
        .section .note.GNU-stack,"",%progbits
