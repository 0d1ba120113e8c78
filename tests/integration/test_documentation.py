"""What the documents say about the binaries is what the binaries say about themselves."""

import subprocess
from pathlib import Path

from harness import TREE
from harness.servers import build_directory


def test_the_page_of_settings_is_what_the_binaries_print():
    binaries = sorted(Path(build_directory(), "bin").glob("granary-*"))
    printed = subprocess.run([TREE / "docs/generate-configuration", *binaries], capture_output=True, text=True,
                             check=True, env={"PATH": "/usr/bin:/bin"}).stdout
    assert (TREE / "docs/configuration.md").read_text() == printed, "hint: make docs-config"
