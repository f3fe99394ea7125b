// SPDX-License-Identifier: Apache-2.0

// Walks the stack of a C function that Go calls, and with a file in the plain form of stack samples (tests/c_api/samples.cpp)
// those, through the C interface to backsight's unwinding. CGO_CFLAGS and CGO_LDFLAGS name the folders of header and library.
package main

/*
#cgo LDFLAGS: -lbacksight_unwind
#include <backsight_unwind.h>
#include <stdlib.h>
#include <string.h>

static bsu_memory snapshot(const void* bytes, uint64_t low, uint64_t size) {
	bsu_memory memory;
	memset(&memory, 0, sizeof memory);
	memory.kind = BSU_SNAPSHOT;
	memory.low = low;
	memory.high = low + size;
	memory.bytes = bytes;
	return memory;
}
__attribute__((noinline)) static size_t walk_here(const bsu_process* process, uint64_t* pcs, size_t capacity, int* why) {
	bsu_registers here;
	bsu_memory memory;
	memset(&memory, 0, sizeof memory);
	bsu_capture(&here);
	memory.low = (uint64_t)(uintptr_t)&memory & ~(uint64_t)0xfff;
	memory.high = memory.low + 0x10000;
	return bsu_walk(process, NULL, &here, &memory, pcs, capacity, why);
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"
)

func check(code C.int) {
	if code != 0 {
		fmt.Fprintln(os.Stderr, "walk_samples:", C.GoString(C.bsu_error_text(code)))
		os.Exit(1)
	}
}

// Numbers of 8 bytes and bytes, one after the other, in memory of C.
type plain struct {
	at   unsafe.Pointer
	left uint64
}

func (p *plain) bytes(size uint64) unsafe.Pointer {
	if size > p.left {
		panic("the samples end too early")
	}
	some := p.at
	p.at = unsafe.Add(p.at, size)
	p.left -= size
	return some
}

func (p *plain) number() uint64 {
	return binary.LittleEndian.Uint64(unsafe.Slice((*byte)(p.bytes(8)), 8))
}

func walkSamples(file []byte) bool {
	copied := C.CBytes(file)
	defer C.free(copied)
	from := plain{copied, uint64(len(file))}
	tables := make([]*C.bsu_table, from.number())
	for i := range tables {
		size := from.number()
		check(C.bsu_table_open_bytes(from.bytes(size), C.size_t(size), &tables[i]))
	}
	processes := make([]*C.bsu_process, from.number())
	for i := range processes {
		check(C.bsu_process_new(&processes[i]))
		for n := from.number(); n > 0; n-- {
			begin, end, bias, index := from.number(), from.number(), from.number(), from.number()
			var table *C.bsu_table
			if index < uint64(len(tables)) {
				table = tables[index]
			}
			check(C.bsu_process_add(processes[i], C.uint64_t(begin), C.uint64_t(end), C.uint64_t(bias), table))
		}
	}
	var cache *C.bsu_cache
	check(C.bsu_cache_new(&cache))
	samples, frames, differences := from.number(), uint64(0), 0
	pcs := make([]C.uint64_t, 1<<16)
	for n := samples; n > 0; n-- {
		process := processes[from.number()]
		var start C.bsu_registers
		for i := 0; i < 17; i++ {
			start.value[i] = C.uint64_t(from.number())
		}
		start.pc = start.value[16]
		low, size := from.number(), from.number()
		memory := C.snapshot(from.bytes(size), C.uint64_t(low), C.uint64_t(size))
		expected := from.number()
		var why C.int
		count := uint64(C.bsu_walk(process, cache, &start, &memory, &pcs[0], C.size_t(len(pcs)), &why))
		frames += count
		differs := count != expected
		for i := uint64(0); i < expected; i++ {
			pc := from.number()
			differs = differs || uint64(pcs[i]) != pc
		}
		expectedWhy := from.number()
		// With the cache it is not known whether a module without rules was there.
		if differs || (uint64(why) != expectedWhy && why > 3) {
			differences++
		}
	}
	C.bsu_cache_free(cache)
	for _, p := range processes {
		C.bsu_process_free(p)
	}
	for _, t := range tables {
		C.bsu_table_free(t)
	}
	fmt.Printf("%d samples, %d frames, %d differences\n", samples, frames, differences)
	return differences == 0
}

func main() {
	var process *C.bsu_process
	check(C.bsu_process_new(&process))
	check(C.bsu_process_refresh_own(process))
	var pcs [64]C.uint64_t
	var why C.int
	count := C.walk_here(process, &pcs[0], C.size_t(len(pcs)), &why)
	C.bsu_process_free(process)
	// The frames of C, and the first of the Go runtime, which has no call frame information for unwinders.
	fmt.Println("own stack: more than 1 frame:", count > 1)
	good := count > 1
	for _, path := range os.Args[1:] {
		file, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		good = walkSamples(file) && good
	}
	if !good {
		os.Exit(1)
	}
}
