// cuLaunchKernel as the application calls it.  In assembly, because GCC 12 loads the five stack arguments
// and stores them back before a tail call; the C++ counterpart for cuLaunchKernelEx, whose arguments are all
// in registers, is in launch_hooks.cpp.
//
// sys::HotLine: the filter word, then the driver's functions, one a slot.  The shifts are those of
// sys::filter_bit; `bt` takes the bit number modulo 64.
#if defined(__x86_64__)
        .macro  launch_kernel symbol, slot, counted
        .globl  \symbol
        .type   \symbol, @function
        .p2align 5
\symbol:
        .cfi_startproc
        movq    %rdi, %rax
        movq    %rdi, %r10
        shrq    $4, %rax
        shrq    $12, %r10
        xorl    %r10d, %eax
        movq    inline_prof_hot_line(%rip), %r10
        btq     %rax, %r10
        jc      \counted                // perhaps armed, or all launches are counted
        movq    inline_prof_hot_line + 8 + 8 * \slot(%rip), %rax
        testq   %rax, %rax
        je      \counted                // the driver's function is not known yet
        jmp     *%rax
        .cfi_endproc
        .size   \symbol, .-\symbol
        .endm

        .text
        launch_kernel cuLaunchKernel, 0, inline_prof_launch_counted_legacy
        launch_kernel cuLaunchKernel_ptsz, 1, inline_prof_launch_counted_per_thread
        .hidden inline_prof_launch_kernel_spare
        launch_kernel inline_prof_launch_kernel_spare, 2, inline_prof_launch_counted_spare
#endif
        .section .note.GNU-stack,"",@progbits
