	.text
	.globl f
	.type f,@function
f:
	.cfi_startproc
	addi sp,sp,-32
	.cfi_def_cfa_offset 32
	sd ra,24(sp)
	.cfi_offset ra,-8
	call g
	.cfi_remember_state
	lw a0,0(a0)
	call g
	.cfi_def_cfa_offset 48
	.rept 10
	call g
	.endr
	.cfi_def_cfa_offset 64
	.rept 40
	call g
	.endr
	.cfi_restore_state
	.cfi_restore ra
	addi sp,sp,32
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size f,.-f
