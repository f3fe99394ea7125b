# SPDX-License-Identifier: Apache-2.0
"""Whether tests can have terminals."""
import os
import pty


def has_terminals():
    """Whether pseudo terminals can be opened, which take a mounted /dev/pts."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        print(f"SKIPPED: what terminals get is not tested: {error}")
        return False
    return True
