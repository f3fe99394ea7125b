# SPDX-License-Identifier: Apache-2.0
"""The completions where users meet them: bash with bash-completion, zsh and fish find them where they are installed, and offer what a
line that is begun may go on with.

    completions_test.py PROGRAM DATA
"""
import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from terminals import has_terminals

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
PLACES = {"bash": "bash-completion/completions/backsight", "zsh": "zsh/site-functions/_backsight", "fish": "fish/vendor_completions.d/backsight.fish"}

# What is offered behind a line, or what is among that.
OFFERED = {
    "backsight re": {"report", "replay", "reuse"},
    "backsight -q re": {"report", "replay", "reuse"},
    "backsight --color ": {"auto", "always", "never"},
    "backsight --": {"--help", "--version", "--quiet", "--verbose", "--color", "--no-pager"},
    "backsight cfi ": {"stats", "rows", "table", "lookup", "sframe", "emit-c", "compile"},
    "backsight cfi ta": {"table"},
    "backsight cfi table -o out --form ": {"table", "bpf"},
    "backsight report --format ": {"text", "csv", "tsv", "json"},
    "backsight report xray --format j": {"json"},
    "backsight report --no-pager -s p": {"p90", "p99"},
    "backsight report stacks --by ": {"function", "thread", "process", "module", "event"},
    "backsight stacks --match ": {"glob", "regex"},
    "backsight report --thr": {"--thread"},
    "backsight export --to ": {"folded", "chrome", "perfetto", "dot", "yaml"},
    "backsight report xr": {"xray", "xray_profile"},
    "backsight diff xray mem": {"memtrace"},
    "backsight report -F ": set(),
}
# bash and fish give the whole word, zsh what is behind the `=`.
BEHIND_EQUALS = {"backsight report --format=": {"text", "csv", "tsv", "json"}, "backsight report --by=th": {"thread"}}


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, *words, environment):
        self.end, shell_end = pty.openpty()
        fcntl.ioctl(shell_end, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 1000, 0, 0))
        self.shell = subprocess.Popen(words, stdin=shell_end, stdout=shell_end, stderr=shell_end, cwd=DATA,
                                      env={**os.environ, "TERM": "dumb", **environment}, start_new_session=True)
        os.close(shell_end)

    def type(self, text):
        os.write(self.end, text.encode())

    def wait_for(self, done, seconds=30):
        """Reads, so that the shell can write, until done() holds."""
        until = time.monotonic() + seconds
        while not done():
            if time.monotonic() > until:
                raise AssertionError("the shell does not answer")
            self.read(0.02)

    def read(self, seconds):
        while select.select([self.end], [], [], seconds)[0]:
            try:
                if not os.read(self.end, 65536):
                    return
            except OSError:
                return

    def close(self):
        self.shell.kill()
        self.shell.wait()
        os.close(self.end)


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


class Shells(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(os.path.join(self.folder, "bin"))
        os.symlink(PROGRAM, os.path.join(self.folder, "bin", "backsight"))
        self.environment = {"PATH": os.path.join(self.folder, "bin") + ":" + os.environ["PATH"], "HOME": self.folder,
                            "XDG_DATA_DIRS": os.path.join(self.folder, "share") + ":/usr/local/share:/usr/share"}
        self.answer = os.path.join(self.folder, "answer")

    def install(self, shell):
        path = os.path.join(self.folder, "share", PLACES[shell])
        os.makedirs(os.path.dirname(path))
        subprocess.run([PROGRAM, "pages", shell, "--output", path], check=True)
        return os.path.dirname(path)

    def start(self, *words, setup):
        path = os.path.join(self.folder, "setup")
        with open(path, "w", encoding="utf-8") as file:
            file.write(setup + f"\necho ready > {self.answer}\n")
        terminal = Terminal(*words, environment=self.environment)
        self.addCleanup(terminal.close)
        terminal.type(f"source {path}\n")
        terminal.wait_for(lambda: lines(self.answer) == ["ready"])
        terminal.read(0.2)
        return terminal

    def ask(self, terminal, *keys):
        os.truncate(self.answer, 0)
        for text in keys:
            terminal.type(text)
            terminal.read(0.2)
        terminal.wait_for(lambda: lines(self.answer)[-1:] == ["END"])
        return lines(self.answer)[:-1]

    def compare(self, ask, cases):
        for line, wanted in cases.items():
            with self.subTest(line=line):
                self.assertEqual(ask(line), wanted)

    @unittest.skipUnless(os.path.exists(BASH_COMPLETION), "bash-completion is not installed")
    def test_bash_offers_what_may_follow(self):
        self.install("bash")
        terminal = self.start("bash", "--noprofile", "--norc", "-i", setup=f"""
PS1= PS2=
. {BASH_COMPLETION}
bind 'set enable-bracketed-paste off'
bind '"\\C-t": insert-completions'
show() {{ printf '%s\\n' "$@" END > {self.answer}; }}""")

        def ask(line):
            # The last word is taken for those that are offered, in its place.
            before = line[: line.rfind(" ") + 1]
            offered = self.ask(terminal, line + "\x14", "\x01show \n")[len(before.split()):]
            return {word.rstrip("/") for word in offered}

        self.compare(ask, OFFERED)
        self.assertEqual(ask("backsight report --by=th"), {"--by=thread"})
        self.assertIn("p99", ask("backsight report -s "))

    @unittest.skipIf(shutil.which("zsh") is None, "zsh is not installed")
    def test_zsh_offers_what_may_follow(self):
        folder = self.install("zsh")
        terminal = self.start("zsh", "-f", "-i", setup=f"""
PS1= PS2=
unset zle_bracketed_paste
fpath=({folder} $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {{
  if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  typeset -a offered
  builtin compadd -A offered "$@"
  (($#offered)) && print -rl -- $offered >> {self.answer}
  builtin compadd "$@"
}}
_show() {{ zle list-choices; print END >> {self.answer}; zle kill-buffer }}
zle -N _show
bindkey '^T' _show""")
        self.compare(lambda line: set(self.ask(terminal, line + "\x14")), OFFERED)
        self.compare(lambda line: set(self.ask(terminal, line + "\x14")), BEHIND_EQUALS)

    @unittest.skipIf(shutil.which("fish") is None, "fish is not installed")
    def test_fish_offers_what_may_follow(self):
        self.install("fish")

        def ask(line):
            done = subprocess.run(["fish", "-c", "complete -C $argv[1]", line], check=True, capture_output=True, text=True, cwd=DATA,
                                  env={**os.environ, **self.environment})
            return {one.split("\t")[0].rstrip("/") for one in done.stdout.splitlines()}

        self.compare(ask, OFFERED)
        self.compare(ask, {line: {line.split()[-1].split("=")[0] + "=" + word for word in words} for line, words in BEHIND_EQUALS.items()})


if __name__ == "__main__":
    if has_terminals():
        unittest.main(argv=sys.argv[:1] + sys.argv[3:])
    sys.exit(77)
