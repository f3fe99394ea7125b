// SPDX-License-Identifier: Apache-2.0
//! Runs the step of examples/bpf in rbpf's machine over the samples that tests/bpf/bpf_samples.cpp wrote.
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

static PAGES: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static PAGE_COUNT: AtomicU64 = AtomicU64::new(0);
static STACK: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static STACK_BASE: AtomicU64 = AtomicU64::new(0);
static STACK_SIZE: AtomicU64 = AtomicU64::new(0);

fn page_of(number: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    if number >= PAGE_COUNT.load(Relaxed) {
        return 0;
    }
    PAGES.load(Relaxed) as u64 + number * 4096
}
fn read_user(to: u64, size: u64, from: u64, _: u64, _: u64) -> u64 {
    let offset = from.wrapping_sub(STACK_BASE.load(Relaxed));
    let have = STACK_SIZE.load(Relaxed);
    if size != 8 || offset > have || have - offset < 8 {
        return -14i64 as u64;
    }
    // The program's own bytes, which it gave the address of, and bytes of the sample.
    unsafe { std::ptr::copy_nonoverlapping(STACK.load(Relaxed).add(offset as usize), to as *mut u8, 8) };
    0
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

// struct step: pc, pc_is_next, lost, 17 registers, 8 places, first page, bias.
const PC: usize = 0;
const EXACT: usize = 1;
const REGISTERS: usize = 3;
const FIRST: usize = 28;
const BIAS: usize = 29;
const CONTEXT: usize = 512;

fn main() {
    let path = std::env::args().nth(1).expect("the samples");
    let file = std::fs::read(path).expect("the samples");
    let mut from = Plain(&file);
    let size = from.number();
    let program = from.bytes(size);
    let page_count = from.number();
    // The machine lets programs use one piece of memory: what they are called with, and behind it the pages.
    let mut memory = vec![0u8; CONTEXT];
    memory.extend_from_slice(from.bytes(page_count * 4096));
    PAGES.store(unsafe { memory.as_mut_ptr().add(CONTEXT) }, Relaxed);
    PAGE_COUNT.store(page_count, Relaxed);
    let processes: Vec<Vec<[u64; 4]>> = (0..from.number())
        .map(|_| (0..from.number()).map(|_| [from.number(), from.number(), from.number(), from.number()]).collect())
        .collect();

    let mut machine = rbpf::EbpfVmRaw::new(Some(program)).expect("a program");
    machine.register_helper(1, page_of).expect("a helper");
    machine.register_helper(112, read_user).expect("a helper");
    let (samples, mut frames, mut differences) = (from.number(), 0, 0);
    for _ in 0..samples {
        let modules = &processes[from.number() as usize];
        let mut state = [0u64; BIAS + 1];
        for i in 0..17 {
            state[REGISTERS + i] = from.number();
        }
        state[PC] = state[REGISTERS + 16];
        state[EXACT] = 1;
        let (base, size) = (from.number(), from.number());
        STACK.store(from.bytes(size).as_ptr() as *mut u8, Relaxed);
        STACK_BASE.store(base, Relaxed);
        STACK_SIZE.store(size, Relaxed);
        let expected: Vec<u64> = (0..from.number()).map(|_| from.number()).collect();
        let mut pcs = vec![];
        while pcs.len() < 1024 {
            pcs.push(state[PC]);
            let address = state[PC].wrapping_sub(if state[EXACT] != 0 { 0 } else { 1 });
            let Some(module) = modules.iter().find(|m| address >= m[0] && address < m[1]) else { break };
            state[FIRST] = module[3];
            state[BIAS] = module[2];
            for (i, value) in state.iter().enumerate() {
                memory[8 * i..8 * i + 8].copy_from_slice(&value.to_le_bytes());
            }
            // It keeps the borrow as long as it lives; nothing else looks at the bytes while it runs.
            let all = unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr(), memory.len()) };
            let why = machine.execute_program(all).expect("no access to other memory");
            for (i, value) in state.iter_mut().enumerate() {
                *value = u64::from_le_bytes(memory[8 * i..8 * i + 8].try_into().unwrap());
            }
            if why != 0 {
                break;
            }
        }
        frames += pcs.len();
        if pcs != expected {
            differences += 1;
        }
    }
    println!("{samples} samples, {frames} frames by rbpf, {differences} differences");
    std::process::exit(if differences == 0 && frames > 0 { 0 } else { 1 });
}
