// cuLaunchKernel as the application calls it.  In assembly, because GCC 12 loads the five stack arguments
// and stores them back before a tail call; the C++ counterpart for cuLaunchKernelEx, whose arguments are all
// in registers, is in launch_hooks.cpp.
//
// sys::HotLine: the filter word, then the driver's functions, one a slot.  The shifts are those of
// sys::filter_bit; `bt` takes the bit number modulo 64.
#if defined(__x86_64__)
        .macro  launch_kernel symbol, slot, counted, default_stream
        .globl  \symbol
        .type   \symbol, @function
        .p2align 6                      // in one cache line
\symbol:
        .cfi_startproc
        movq    %rdi, %rax
        movq    %rdi, %r10
        shrq    $4, %rax
        shrq    $12, %r10
        xorl    %r10d, %eax
        movq    inline_prof_hot_line(%rip), %r10
        btq     %rax, %r10
        movq    inline_prof_hot_line + 8 + 8 * \slot(%rip), %rax
        jc      counted_\slot           // perhaps armed, or all launches are counted
        testq   %rax, %rax
        je      \counted                // the driver's function is not known yet
        jmp     *%rax
        .cfi_endproc
        .size   \symbol, .-\symbol

        // Counts as LaunchFilter::settle and launch::count_alone do; launch::CountingLine and timer::LaunchSlot have
        // the offsets.  A launch of another thread, one that must be examined, and one whose slot is not at its first
        // place are left to C++.
        .type   counted_\slot, @function
        .p2align 5
counted_\slot:
        .cfi_startproc
        movq    %fs:0, %r11
        cmpq    inline_prof_counting_line(%rip), %r11
        jne     \counted
        testq   %rax, %rax
        je      \counted
        movq    24(%rsp), %r10          // the stream
        movl    $\default_stream, %r11d
        testq   %r10, %r10
        cmoveq  %r11, %r10
        movq    %r10, %rax              // timer::LaunchTable::home
        movabsq $0x9E3779B97F4A7C15, %r11
        rolq    $32, %rax
        xorq    %rdi, %rax
        imulq   %r11, %rax
        leaq    inline_prof_launch_table(%rip), %r11
        shrq    $51, %rax
        shlq    $5, %rax
        addq    %r11, %rax
        cmpq    (%rax), %rdi
        jne     \counted
        cmpq    8(%rax), %r10
        jne     \counted
        cmpq    inline_prof_counting_line + 8(%rip), %rdi
        je      \counted
        cmpq    inline_prof_counting_line + 16(%rip), %rdi
        je      \counted
        movb    $1, inline_prof_counting_line + 24(%rip)
        cmpq    $0, inline_prof_counting_line(%rip)
        je      1f
        movl    16(%rax), %r10d
        cmpl    20(%rax), %r10d
        jae     1f
        incl    %r10d
        movl    %r10d, 16(%rax)
        movb    $0, inline_prof_counting_line + 24(%rip)
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        .rept   5
        pushq   56(%rsp)
        .cfi_adjust_cfa_offset 8
        .endr
        call    *inline_prof_hot_line + 8 + 8 * \slot(%rip)
        addq    $48, %rsp
        .cfi_adjust_cfa_offset -48
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testl   %eax, %eax
        jne     2f
        ret
1:      movb    $0, inline_prof_counting_line + 24(%rip)
        jmp     \counted
2:      movl    %eax, %esi
        jmp     inline_prof_launch_failed
        .cfi_endproc
        .size   counted_\slot, .-counted_\slot
        .endm

        .text
        .hidden inline_prof_launch_table
        .hidden inline_prof_counting_line
        launch_kernel cuLaunchKernel, 0, inline_prof_launch_counted_legacy, 1
        launch_kernel cuLaunchKernel_ptsz, 1, inline_prof_launch_counted_per_thread, 2
        .hidden inline_prof_launch_kernel_spare
        launch_kernel inline_prof_launch_kernel_spare, 2, inline_prof_launch_counted_spare, 1
#endif
        .section .note.GNU-stack,"",@progbits
