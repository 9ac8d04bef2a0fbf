# SPDX-License-Identifier: Apache-2.0
"""What tox asks before it makes an environment: the row `wheels` needs compilers that no environment brings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tox.plugin import impl
from tox.tox_env.api import ToxEnv
from tox.tox_env.errors import Fail

sys.path.append(str(Path(__file__).parent))

from ffi_build.wheels.maven import SYSTEMS
from ffi_build.wheels.targets import TARGETS, gcc_for


@impl
def tox_on_install(tox_env: ToxEnv, arguments: Any, section: str, of_type: str) -> None:
    """Fail where a compiler is missing for what `tox run -e wheels` is to build."""
    del arguments, section, of_type
    names = set(sys.argv[sys.argv.index("--") + 1 :]) if "--" in sys.argv else set()
    is_without = names & set(SYSTEMS) or (names and names <= {"pure", "sdist"})
    if tox_env.conf.name != "wheels" or is_without:
        return
    architectures = {target.architecture for target in TARGETS}
    try:
        for target in TARGETS:
            if target.architecture in (names & architectures or architectures):
                gcc_for(target)
    except SystemExit as exc:
        raise Fail(str(exc)) from None
