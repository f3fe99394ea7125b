// SPDX-License-Identifier: Apache-2.0
//! The same samples through framehop, and through gimli with a walk of our own around it, for bench_unwind.
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use gimli::{BaseAddresses, CfaRule, EhFrame, EndianSlice, EvaluationResult, LittleEndian, RegisterRule, UnwindSection};
use std::ops::Deref;

type Slice = EndianSlice<'static, LittleEndian>;

/// Bytes of the caller, which live as long as the peers.
#[derive(Clone, Copy, Default)]
struct Bytes(&'static [u8]);
impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0
    }
}

#[repr(C)]
pub struct PeerModule {
    begin: u64,
    end: u64,
    bias: u64,
    eh_frame: *const u8,
    eh_frame_size: u64,
    eh_frame_address: u64,
    header: *const u8,
    header_size: u64,
    header_address: u64,
}
#[repr(C)]
pub struct PeerSample {
    registers: [u64; 17],
    stack_base: u64,
    stack: *const u8,
    stack_size: u64,
}
impl PeerSample {
    fn read(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.stack_base);
        if offset > self.stack_size || self.stack_size - offset < 8 {
            return None;
        }
        Some(unsafe { self.stack.add(offset as usize).cast::<u64>().read_unaligned() })
    }
}

struct GimliModule {
    begin: u64,
    end: u64,
    bias: u64,
    frames: EhFrame<Slice>,
    header: gimli::ParsedEhFrameHdr<Slice>,
    bases: BaseAddresses,
}
pub struct Peers {
    framehop: Vec<UnwinderX86_64<Bytes>>,
    cache: CacheX86_64,
    gimli: Vec<Vec<GimliModule>>,
    context: gimli::UnwindContext<usize>,
}

#[no_mangle]
pub extern "C" fn peers_new() -> *mut Peers {
    Box::into_raw(Box::new(Peers { framehop: vec![], cache: CacheX86_64::new(), gimli: vec![], context: gimli::UnwindContext::new() }))
}
/// # Safety
/// `peers` is of peers_new, and nobody uses it any more.
#[no_mangle]
pub unsafe extern "C" fn peers_free(peers: *mut Peers) {
    drop(Box::from_raw(peers));
}
/// A further process with `count` modules, ascending; what they point to stays.
/// # Safety
/// The pointers are good.
#[no_mangle]
pub unsafe extern "C" fn peers_process(peers: *mut Peers, modules: *const PeerModule, count: u64) {
    let mut hop = UnwinderX86_64::new();
    let mut list = vec![];
    for i in 0..count as usize {
        let m = &*modules.add(i);
        if m.eh_frame.is_null() || m.header.is_null() {
            continue;
        }
        let frames = std::slice::from_raw_parts(m.eh_frame, m.eh_frame_size as usize);
        let header = std::slice::from_raw_parts(m.header, m.header_size as usize);
        let sections = ExplicitModuleSectionInfo {
            eh_frame_svma: Some(m.eh_frame_address..m.eh_frame_address + m.eh_frame_size),
            eh_frame: Some(Bytes(frames)),
            eh_frame_hdr_svma: Some(m.header_address..m.header_address + m.header_size),
            eh_frame_hdr: Some(Bytes(header)),
            ..Default::default()
        };
        hop.add_module(Module::new(format!("{i}"), m.begin..m.end, m.bias, sections));
        let bases = BaseAddresses::default().set_eh_frame(m.eh_frame_address).set_eh_frame_hdr(m.header_address);
        let parsed = gimli::EhFrameHdr::new(header, LittleEndian).parse(&bases, 8);
        if let Ok(header) = parsed {
            let frames = EhFrame::new(frames, LittleEndian);
            list.push(GimliModule { begin: m.begin, end: m.end, bias: m.bias, frames, header, bases });
        }
    }
    (*peers).framehop.push(hop);
    (*peers).gimli.push(list);
}
/// Writes the pcs of a sample's frames and gives their number.
/// # Safety
/// The pointers are good, `room` pcs have room.
#[no_mangle]
pub unsafe extern "C" fn peers_walk_framehop(peers: *mut Peers, process: u64, sample: *const PeerSample, pcs: *mut u64, room: u64) -> u64 {
    let (peers, s) = (&mut *peers, &*sample);
    let mut read = |address| s.read(address).ok_or(());
    let regs = UnwindRegsX86_64::new(s.registers[16], s.registers[7], s.registers[6]);
    let mut frames = peers.framehop[process as usize].iter_frames(s.registers[16], regs, &mut peers.cache, &mut read);
    let mut count = 0;
    while count < room {
        let Ok(Some(frame)) = frames.next() else { break };
        *pcs.add(count as usize) = frame.address();
        count += 1;
    }
    count
}
/// The same by gimli's rows, through .eh_frame_hdr.
/// # Safety
/// The pointers are good, `room` pcs have room.
#[no_mangle]
pub unsafe extern "C" fn peers_walk_gimli(peers: *mut Peers, process: u64, sample: *const PeerSample, pcs: *mut u64, room: u64) -> u64 {
    let (peers, s) = (&mut *peers, &*sample);
    let modules = &peers.gimli[process as usize];
    let mut registers = s.registers;
    let (mut pc, mut exact, mut count) = (registers[16], true, 0);
    while count < room {
        *pcs.add(count as usize) = pc;
        count += 1;
        let address = pc.wrapping_sub(if exact { 0 } else { 1 });
        let found = modules.partition_point(|m| m.begin <= address);
        if found == 0 || address >= modules[found - 1].end {
            break;
        }
        match step(&modules[found - 1], &mut peers.context, address, &registers, pc, s) {
            Some((next, signal)) if !(next[16] == 0 || next[16] == pc && next[7] <= registers[7]) => {
                registers = next;
                pc = next[16];
                exact = signal;
            }
            _ => break,
        }
    }
    count
}

fn step(m: &GimliModule, context: &mut gimli::UnwindContext<usize>, address: u64, registers: &[u64; 17], pc: u64, s: &PeerSample) -> Option<([u64; 17], bool)> {
    let address = address.wrapping_sub(m.bias);
    let fde = m.header.table()?.fde_for_address(&m.frames, &m.bases, address, EhFrame::cie_from_offset).ok()?;
    let row = fde.unwind_info_for_address(&m.frames, &m.bases, context, address).ok()?;
    let evaluate = |expression: &gimli::UnwindExpression<usize>, first: Option<u64>| -> Option<u64> {
        let mut run = expression.get(&m.frames).ok()?.evaluation(fde.cie().encoding());
        if let Some(value) = first {
            run.set_initial_value(value);
        }
        let mut at = run.evaluate().ok()?;
        loop {
            at = match at {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory { address, .. } => run.resume_with_memory(gimli::Value::Generic(s.read(address)?)).ok()?,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = if register.0 == 16 { pc } else { *registers.get(register.0 as usize)? };
                    run.resume_with_register(gimli::Value::Generic(value)).ok()?
                }
                _ => return None,
            };
        }
        run.value_result()?.to_u64(u64::MAX).ok()
    };
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => registers.get(register.0 as usize)?.wrapping_add(*offset as u64),
        CfaRule::Expression(e) => evaluate(e, None)?,
    };
    let mut next = *registers;
    next[7] = cfa;
    for (register, rule) in row.registers() {
        let to = register.0 as usize;
        if to > 16 {
            continue;
        }
        let value = match rule {
            RegisterRule::Offset(offset) => s.read(cfa.wrapping_add(*offset as u64)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add(*offset as u64)),
            RegisterRule::Register(other) => registers.get(other.0 as usize).copied(),
            RegisterRule::Expression(e) => evaluate(e, Some(cfa)).and_then(|at| s.read(at)),
            RegisterRule::ValExpression(e) => evaluate(e, Some(cfa)),
            RegisterRule::SameValue => Some(registers[to]),
            _ if to == 16 => return None,
            _ => Some(registers[to]),
        };
        match value {
            Some(value) => next[to] = value,
            None if to == 16 => return None,
            None => {}
        }
    }
    if matches!(row.register(gimli::X86_64::RA), RegisterRule::Undefined) {
        return None;
    }
    Some((next, fde.is_signal_trampoline()))
}
