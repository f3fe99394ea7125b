#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conformance.py PROGRAM DATA [--corpus]

Runs `backsight` on every XRay log of DATA (tests/data/xray), or with --corpus of $BACKSIGHT_CORPUS/xray, and compares what
it prints with what llvm-xray 19 printed for the same log (expected/). Broken logs must give exit code 1 and
`file:offset: message` with the offset of the first byte of the bad record. Prints a table and exits 1 when anything differs,
77 with --corpus when BACKSIGHT_CORPUS is not set.
"""
import difflib
import gzip
import json
import os
import re
import subprocess
import sys

OK, DIFFERENT, NONE = 'ok', 'DIFFERENT', '-'

# For each broken log: the offset where the fault is, and what is wrong there. The first 112 bytes of most: header at 0,
# BufferExtents at 32, NewBuffer at 48, WallClock at 64, Pid at 80, NewCPUId at 96, then four function records to 144.
FAULTS = {
    'bad-basic-arg-first': (32, 'does not match'),          # an argument record with no record before it
    'bad-basic-arg-mismatch': (64, 'does not match'),       # another function than the record at 32
    'bad-basic-arg-other-pid': (64, 'does not match'),      # another process
    'bad-basic-cut-at-100': (96, 'unexpected end'),         # two whole records, 4 bytes of the third
    'bad-basic-kind-4': (32, 'not allowed'),                # the first record's action
    'bad-basic-record-type-2': (32, 'unknown kind'),
    'bad-basic-version-4': (0, 'unsupported version'),
    'bad-empty-file': (0, ''),
    'bad-fdr-arg-after-cpu': (112, 'may not follow'),       # behind the preamble and NewCPUId
    'bad-fdr-custom-size-huge': (144, 'unexpected end'),
    'bad-fdr-custom-size-negative': (144, 'size field'),
    'bad-fdr-custom-size-zero': (144, 'size field'),
    'bad-fdr-cut-at-100': (96, 'unexpected end'),
    'bad-fdr-cut-at-116': (112, 'unexpected end'),
    'bad-fdr-cut-at-117': (112, 'unexpected end'),
    'bad-fdr-cut-at-120': (120, 'unexpected end'),          # between records, but the block counts more bytes
    'bad-fdr-cut-at-123': (120, 'unexpected end'),
    'bad-fdr-cut-at-127': (120, 'unexpected end'),
    'bad-fdr-cut-at-151': (144, 'unexpected end'),          # inside the second BufferExtents
    'bad-fdr-cut-at-33': (32, 'unexpected end'),
    'bad-fdr-cut-at-40': (32, 'unexpected end'),
    'bad-fdr-cut-at-47': (32, 'unexpected end'),
    'bad-fdr-cut-at-52': (48, 'unexpected end'),
    'bad-fdr-eob-in-v5': (144, 'unknown kind'),
    'bad-fdr-extents-huge': (144, 'unexpected end'),        # the block counts more than the log has: at the log's end
    'bad-fdr-extents-too-big': (144, 'unexpected end'),
    'bad-fdr-extents-too-small': (136, 'crosses the end'),  # the last function record has 3 of its 8 bytes in the block
    'bad-fdr-function-type-4': (144, 'not allowed'),
    'bad-fdr-function-type-7': (144, 'not allowed'),
    'bad-fdr-kind-10': (144, 'unknown kind'),
    'bad-fdr-kind-127': (144, 'unknown kind'),
    'bad-fdr-nested-extents': (144, 'may not follow'),      # a BufferExtents inside the bytes that another one counts
    'bad-fdr-no-cpu': (96, 'may not follow'),               # a function record behind Pid
    'bad-fdr-no-newbuffer': (48, 'may not follow'),         # WallClock behind BufferExtents
    'bad-fdr-no-wallclock': (64, 'may not follow'),         # Pid behind NewBuffer
    'bad-fdr-only-preamble': (96, 'may not be the last'),   # the block ends behind Pid
    'bad-fdr-second-wallclock': (144, 'may not follow'),
    'bad-fdr-trailing-bytes': (144, 'after the last record'),
    'bad-fdr-typed-size-zero': (144, 'size field'),
    'bad-fdr-version-0': (0, 'unsupported version'),
    'bad-fdr-version-6': (0, 'unsupported version'),
    'bad-header-3-bytes': (0, ''),
    'bad-header-31-bytes': (0, 'unexpected end'),
    'bad-type-2': (0, ''),                                  # no format that the program knows begins so
    # Nothing but a header is an empty log.
    'bad-basic-header-only': None,
    'bad-fdr-header-only': None,
}
# The real logs that are cut off or, by a fault of the recorder, counted too short: the number of their faults is not
# written down here, but there must be one.
FAULTY = re.compile(r'cut-fdr|cut-basic-unaligned|fdr-typed')


def run(program, *words):
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return done.returncode, done.stdout, done.stderr.decode(errors='replace')


def expected(folder, name):
    for path in (os.path.join(folder, name), os.path.join(folder, name + '.gz')):
        if os.path.exists(path):
            with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
                return file.read()
    return None


class Check:
    def __init__(self, program, data):
        self.program, self.data, self.failures, self.logs, self.compared = program, data, [], 0, {}

    def fail(self, log, what, detail=''):
        self.failures.append(f'{log}: {what}\n{detail}')
        return DIFFERENT

    def differ(self, log, what, want, got):
        if want == got:
            return OK
        lines = difflib.unified_diff(want.decode(errors='replace').splitlines(), got.decode(errors='replace').splitlines(),
                                     'llvm-xray', 'backsight', lineterm='', n=0)
        return self.fail(log, what, '\n'.join(list(lines)[:12]))

    def text(self, log, what, want, *words):
        """The same bytes."""
        if want is None:
            return NONE
        code, got, errors = run(self.program, *words)
        if code not in (0, 1):
            return self.fail(log, what, f'exit code {code}: {errors}')
        return self.differ(log, what, want, got)

    def yaml(self, log, want, *words):
        """The same lines; those of equal time may come in any order between threads, but not within one."""
        if want is None:
            return NONE
        code, got, errors = run(self.program, *words)
        if code not in (0, 1):
            return self.fail(log, 'yaml', f'exit code {code}: {errors}')

        def ordered(text):
            head, _, body = text.partition(b'\nrecords:')
            lines = [line for line in body.split(b'\n') if line.strip()]
            keyed = []
            for number, line in enumerate(lines):
                tsc, thread = re.search(rb'tsc: (\d+)', line), re.search(rb'thread: (\d+)', line)
                keyed.append((int(tsc[1]) if tsc else -1 if number == 0 else 1 << 65, int(thread[1]) if thread else 0, line))
            in_order = [key[0] for key in keyed]
            if in_order != sorted(in_order):
                raise ValueError('records are not in the order of time')
            # Stable: within a thread the order of the file stays.
            return head + b'\n' + b'\n'.join(line for _, _, line in sorted(keyed, key=lambda key: key[:2]))

        try:
            return self.differ(log, 'yaml', ordered(want), ordered(got))
        except ValueError as error:
            return self.fail(log, 'yaml', str(error))

    def events(self, log, what, want, *words):
        """The same trace events, with their stacks; the order of equal times and the numbers of stack frames are free."""
        if want is None:
            return NONE
        code, got, errors = run(self.program, *words)
        if code not in (0, 1):
            return self.fail(log, what, f'exit code {code}: {errors}')

        def plain(text):
            trace = json.loads(text.decode(errors='replace'))
            frames = trace.get('stackFrames', {})

            def stack(number):
                names = []
                while number is not None and str(number) in frames:
                    frame = frames[str(number)]
                    names.append(frame['name'])
                    number = frame.get('parent')
                return tuple(names)

            return sorted(json.dumps({**{key: value for key, value in event.items() if key != 'sf'}, 'stack': stack(event.get('sf'))},
                                     sort_keys=True) for event in trace['traceEvents'])

        try:
            ours, theirs = plain(got), plain(want)
        except (ValueError, KeyError) as error:
            return self.fail(log, what, f'not a trace: {error!r}')
        return self.differ(log, what, '\n'.join(theirs).encode(), '\n'.join(ours).encode())

    def faults(self, log, path, name):
        """Exit code and the place of the fault, the same for every command; what came before is still dumped."""
        if name in FAULTS and FAULTS[name] is not None:
            offset, message = FAULTS[name]
            for command in ('info', 'dump', 'report', 'stacks'):
                code, out, errors = run(self.program, command, path)
                first = errors.splitlines()[0] if errors else ''
                place = f'{path}:{offset}: '
                if code != 1 or not first.startswith(place) or message not in first:
                    return self.fail(log, f'{command} of a broken log', f'exit code {code}, {first!r} instead of {place}...{message}')
                if command == 'dump':
                    kept = [int(line.split()[0]) for line in out.decode(errors='replace').splitlines() if line.split()[:1] and line.split()[0].isdigit()]
                    before = self.records_before(path, offset)
                    if before is not None and kept[:len(before)] != before:
                        return self.fail(log, 'dump of a broken log', f'records at {kept} instead of {before}')
            return OK
        code, _, errors = run(self.program, 'info', path)
        wanted = 1 if FAULTY.search(name) else 0
        if code != wanted or (wanted == 1 and not re.match(re.escape(path) + r':\d+: .', errors)):
            return self.fail(log, 'exit code', f'{code} instead of {wanted}: {errors}')
        return OK

    def twin(self, log, root, group, name):
        """Logs that hold the same events as another: big-endian ones (llvm-xray reads none of FDR), and one of version 1 with
        rubbish behind EndOfBuffer. The same must be printed for both, but for offsets and the flags of the header."""
        twin = name[:-3] + '-le' if name.endswith('-be') else name.replace('-dirty-tail', '') if 'dirty-tail' in name else None
        if twin is None:
            return NONE
        paths = [os.path.join(root, group, n + '.xray') for n in (twin, name)]
        llvm = '--as', 'llvm-xray'
        commands = [('report', '--format', 'csv'), ('report', *llvm), ('report', '--deduce-calls', *llvm), ('stacks', '--format', 'csv'),
                    ('export', '--to', 'yaml', *llvm), ('export', '--to', 'chrome', *llvm), ('export', '--to', 'folded'),
                    ('export', '--to', 'perfetto'), ('dump', '--format', 'text')]
        for command in commands:
            outputs = [run(self.program, *command, path) for path in paths]
            if any(code != 0 or not out for code, out, _ in outputs):
                return self.fail(log, ' '.join(command), f'exit codes {[o[0] for o in outputs]}')
            records = [out.partition(b'\nrecords:')[2] or out for _, out, _ in outputs]
            if command[0] == 'dump':
                records = [b'\n'.join(line[10:] for line in text.split(b'\n')) for text in records]
            if self.differ(log, 'twin: ' + ' '.join(command), *records) != OK:
                return DIFFERENT
        return OK

    @staticmethod
    def records_before(path, offset):
        """The offsets of the records before `offset` in one of the small broken logs."""
        with open(path, 'rb') as file:
            data = file.read()
        if len(data) < 32 or offset < 32:
            return None
        if data[2] == 0:
            return list(range(32, offset, 32))
        found, at = [], 32
        while at < offset:
            found.append(at)
            at += 16 if data[at] & 1 else 8
        return found

    def log(self, root, group, name):
        path, want = os.path.join(root, group, name + '.xray'), os.path.join(root, 'expected', group, name)
        log = f'{group}/{name}'
        self.logs += 1
        sorted_table = expected(want, 'account-sorted.csv')
        llvm = '--as', 'llvm-xray'
        columns = {
            'report': self.text(log, 'report', sorted_table if sorted_table is not None else expected(want, 'account.csv'), 'report', *llvm, path),
            'deduce': self.text(log, 'report --deduce-calls', expected(want, 'account-d.csv'), 'report', *llvm, '--deduce-calls', path),
            'names': NONE,
            'dump': self.text(log, 'dump', expected(want, 'fdr-dump'), 'dump', *llvm, path),
            'yaml': self.yaml(log, expected(want, 'yaml'), 'export', '--to', 'yaml', *llvm, path),
            'chrome': self.events(log, 'export --to chrome', expected(want, 'trace_event'), 'export', '--to', 'chrome', *llvm, path),
            'faults': self.faults(log, path, name),
            'twin': self.twin(log, root, group, name),
        }
        program = self.program_of(root, group, name)
        if program:
            columns['names'] = self.text(log, 'report --symbols', expected(want, 'account-names.csv'), 'report', *llvm, '--symbols', program, path)
            if columns['names'] in (OK, NONE):
                more = self.events(log, 'export --to chrome --symbols', expected(want, 'trace_event-names'),
                                   'export', '--to', 'chrome', *llvm, '--symbols', program, path)
                columns['names'] = more if columns['names'] == NONE or more == DIFFERENT else OK
        for column, state in columns.items():
            self.compared[column] = self.compared.get(column, 0) + (state != NONE)
        return columns

    @staticmethod
    def program_of(root, group, name):
        program = {'c19': 'workload-19', 'tsc19': 'workload-19', 'c14': 'workload-14'}.get(group)
        path = os.path.join(root, 'bin', program) if program else ''
        return path if os.path.exists(path) else None

    def folder(self, root):
        for group in sorted(os.listdir(root)):
            folder = os.path.join(root, group)
            if group in ('expected', 'bin') or not os.path.isdir(folder):
                continue
            for file in sorted(os.listdir(folder)):
                if file.endswith('.xray'):
                    columns = self.log(root, group, file[:-5])
                    print(f'{group + "/" + file[:-5]:44}' + ' '.join(f'{key}:{value}' for key, value in columns.items()), flush=True)


def main():
    program, data = sys.argv[1:3]
    check = Check(program, data)
    if sys.argv[3:] == ['--corpus']:
        corpus = os.environ.get('BACKSIGHT_CORPUS')
        if not corpus:
            print('BACKSIGHT_CORPUS is not set: the logs of the corpus are left out')
            return 77
        check.folder(os.path.join(corpus, 'xray'))
    else:
        check.folder(data)
    for failure in check.failures:
        print('\n' + failure)
    print(f'\n{check.logs} logs; compared: ' + ', '.join(f'{key} {count}' for key, count in check.compared.items()) +
          f'; {len(check.failures)} differences')
    # A run that compares next to nothing is no check.
    enough = check.logs > 80 and all(check.compared.get(key, 0) > 10 for key in ('report', 'deduce', 'names', 'dump', 'yaml', 'chrome', 'faults')) and check.compared.get('twin', 0) > 8
    if not enough:
        print('too few comparisons')
    return 0 if enough and not check.failures else 1


sys.exit(main())
