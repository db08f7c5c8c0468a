// As launch_x86_64.S, for 64-bit Arm.  lsr by a register takes the count modulo 64.
#if defined(__aarch64__)
        .macro  launch_kernel symbol, slot, counted
        .globl  \symbol
        .type   \symbol, %function
        .p2align 5
\symbol:
        .cfi_startproc
        lsr     x9, x0, #4
        eor     x9, x9, x0, lsr #12
        adrp    x10, inline_prof_hot_line
        add     x10, x10, :lo12:inline_prof_hot_line
        ldr     x11, [x10]
        lsr     x11, x11, x9
        ldr     x16, [x10, #8 + 8 * \slot]
        tbnz    x11, #0, 1f             // perhaps armed, or every launch is counted
        cbz     x16, 1f                 // the driver's function is not known yet
        br      x16
1:      b       \counted
        .cfi_endproc
        .size   \symbol, .-\symbol
        .endm

        .text
        launch_kernel cuLaunchKernel, 0, inline_prof_launch_counted_legacy
        launch_kernel cuLaunchKernel_ptsz, 1, inline_prof_launch_counted_per_thread
        .hidden inline_prof_launch_kernel_spare
        launch_kernel inline_prof_launch_kernel_spare, 2, inline_prof_launch_counted_spare
#endif
        .section .note.GNU-stack,"",%progbits
