// dlsym as the application sees it: names that are ours are answered by dlsym_filter, everything else is a
// tail jump, so that glibc still sees the application's own return address (RTLD_NEXT and RTLD_DEFAULT
// depend on it).
#if defined(__x86_64__)
        .text
        .globl  dlsym
        .type   dlsym, @function
        .p2align 4
dlsym:
        .cfi_startproc
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        movq    16(%rsp), %rdx          // the application's return address says who asks
        subq    $8, %rsp                // 16-byte alignment for the call
        .cfi_adjust_cfa_offset 8
        call    inline_prof_dlsym_filter    // rax: the answer, or rdx: where to jump instead
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testq   %rdx, %rdx
        jne     1f
        ret
1:      jmp     *%rdx
        .cfi_endproc
        .size   dlsym, .-dlsym
#endif
        .section .note.GNU-stack,"",@progbits
