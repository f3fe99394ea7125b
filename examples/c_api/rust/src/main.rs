// SPDX-License-Identifier: Apache-2.0
//! Walks its own stack, and with a file in the plain form of stack samples (tests/c_api/samples.cpp) those, through the C
//! interface to backsight's unwinding.
use std::ffi::{c_int, c_void, CStr};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Registers {
    pc: u64,
    is_return_address: u32,
    reserved: u32,
    value: [u64; 33],
}
#[repr(C)]
struct Memory {
    kind: u32,
    flags: u32,
    low: u64,
    high: u64,
    bytes: *const c_void,
    remote: *mut c_void,
    read: Option<extern "C" fn(*mut c_void, u64, *mut u64) -> c_int>,
    user: *mut c_void,
}
const OWN: u32 = 0;
const SNAPSHOT: u32 = 1;
const OUTERMOST: c_int = 1;

extern "C" {
    fn bsu_error_text(error: c_int) -> *const std::ffi::c_char;
    fn bsu_stop_text(why: c_int) -> *const std::ffi::c_char;
    fn bsu_table_open_bytes(bytes: *const c_void, size: usize, made: *mut *mut c_void) -> c_int;
    fn bsu_table_free(table: *mut c_void);
    fn bsu_process_new(made: *mut *mut c_void) -> c_int;
    fn bsu_process_free(process: *mut c_void);
    fn bsu_process_add(process: *mut c_void, begin: u64, end: u64, bias: u64, table: *const c_void) -> c_int;
    fn bsu_process_refresh_own(process: *mut c_void) -> c_int;
    fn bsu_cache_new(made: *mut *mut c_void) -> c_int;
    fn bsu_cache_free(cache: *mut c_void);
    fn bsu_capture(registers: *mut Registers);
    fn bsu_walk(
        process: *const c_void,
        cache: *mut c_void,
        registers: *const Registers,
        memory: *const Memory,
        pcs: *mut u64,
        capacity: usize,
        why: *mut c_int,
    ) -> usize;
}

fn text(of: *const std::ffi::c_char) -> &'static str {
    unsafe { CStr::from_ptr(of) }.to_str().unwrap_or("?")
}
fn check(code: c_int) {
    if code != 0 {
        eprintln!("walk_samples: {}", text(unsafe { bsu_error_text(code) }));
        std::process::exit(1);
    }
}
fn made(by: impl FnOnce(*mut *mut c_void) -> c_int) -> *mut c_void {
    let mut handle = null_mut();
    check(by(&mut handle));
    handle
}
fn registers() -> Registers {
    Registers { pc: 0, is_return_address: 0, reserved: 0, value: [0; 33] }
}
fn memory(kind: u32, low: u64, high: u64, bytes: *const c_void) -> Memory {
    Memory { kind, flags: 0, low, high, bytes, remote: null_mut(), read: None, user: null_mut() }
}

#[inline(never)]
fn walk_here(depth: u32) -> (usize, c_int) {
    if depth > 0 {
        let found = walk_here(depth - 1);
        return (std::hint::black_box(found.0), found.1);
    }
    let process = made(|to| unsafe { bsu_process_new(to) });
    let mut here = registers();
    let mut pcs = [0u64; 256];
    let mut why = 0;
    let count = unsafe {
        check(bsu_process_refresh_own(process));
        bsu_capture(&mut here);
        let sp = here.value[if cfg!(target_arch = "x86_64") { 7 } else { 31 }];
        bsu_walk(process, null_mut(), &here, &memory(OWN, sp, u64::MAX, null()), pcs.as_mut_ptr(), pcs.len(), &mut why)
    };
    unsafe { bsu_process_free(process) };
    (count, why)
}

/// Numbers of 8 bytes and bytes, one after the other.
struct Plain<'a>(&'a [u8]);
impl<'a> Plain<'a> {
    fn bytes(&mut self, size: u64) -> &'a [u8] {
        let (some, rest) = self.0.split_at(size as usize);
        self.0 = rest;
        some
    }
    fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes(8).try_into().unwrap())
    }
}

fn walk_samples(file: &[u8]) -> bool {
    let mut from = Plain(file);
    let tables: Vec<_> = (0..from.number())
        .map(|_| {
            let size = from.number();
            let bytes = from.bytes(size);
            made(|to| unsafe { bsu_table_open_bytes(bytes.as_ptr().cast(), bytes.len(), to) })
        })
        .collect();
    let processes: Vec<_> = (0..from.number())
        .map(|_| {
            let process = made(|to| unsafe { bsu_process_new(to) });
            for _ in 0..from.number() {
                let (begin, end, bias, table) = (from.number(), from.number(), from.number(), from.number());
                let table = tables.get(table as usize).copied().unwrap_or(null_mut());
                check(unsafe { bsu_process_add(process, begin, end, bias, table) });
            }
            process
        })
        .collect();
    let cache = made(|to| unsafe { bsu_cache_new(to) });
    let (samples, mut frames, mut differences) = (from.number(), 0, 0);
    let mut pcs = vec![0u64; 1 << 16];
    for _ in 0..samples {
        let process = processes[from.number() as usize];
        let mut start = registers();
        for i in 0..17 {
            start.value[i] = from.number();
        }
        start.pc = start.value[16];
        let (low, size) = (from.number(), from.number());
        let stack = from.bytes(size);
        let expected: Vec<u64> = (0..from.number()).map(|_| from.number()).collect();
        let expected_why = from.number() as c_int;
        let mut why = 0;
        let count = unsafe {
            let stack = memory(SNAPSHOT, low, low + size, stack.as_ptr().cast());
            bsu_walk(process, cache, &start, &stack, pcs.as_mut_ptr(), pcs.len(), &mut why)
        };
        frames += count;
        // With the cache it is not known whether a module without rules was there.
        if pcs[..count] != expected[..] || (why != expected_why && why > 3) {
            differences += 1;
        }
    }
    unsafe {
        bsu_cache_free(cache);
        processes.into_iter().for_each(|p| bsu_process_free(p));
        tables.into_iter().for_each(|t| bsu_table_free(t));
    }
    println!("{samples} samples, {frames} frames, {differences} differences");
    differences == 0
}

fn main() {
    let (count, why) = walk_here(10);
    println!("own stack: {}, more than 10 frames: {}", text(unsafe { bsu_stop_text(why) }), count > 10);
    let mut good = why == OUTERMOST && count > 10;
    for path in std::env::args().skip(1) {
        good = walk_samples(&std::fs::read(path).expect("the samples")) && good;
    }
    std::process::exit(if good { 0 } else { 1 });
}
