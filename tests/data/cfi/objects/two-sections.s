	.text
f:	.cfi_startproc
	push %rax
	.cfi_def_cfa_offset 24
	.skip 9
	.cfi_endproc
	.section .init.text,"ax",@progbits
s:	.cfi_startproc
	.byte 0x66,0x90
	.cfi_def_cfa_offset 40
	.skip 18
	.cfi_endproc
