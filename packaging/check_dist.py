"""Look at what a wheel and an sdist hold: what users need, nothing else, and one version everywhere."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

NEEDED = {"tensorm/__init__.py", "tensorm/py.typed", "tensorm/datasets/registry.toml"}
ENDINGS = {".py", ".typed", ".toml", ".html", ".css", ".js"}
LARGEST = 2_000_000  # bytes; a wheel with data in it would be larger


def check_wheel(path: Path) -> str:
    """Return the wheel's version, or exit with what is wrong."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    version = path.name.split("-")[1]
    own = [name for name in names if not name.startswith(f"tensorm-{version}.dist-info/")]
    odd = [name for name in own if not name.startswith("tensorm/") or Path(name).suffix not in ENDINGS]
    if odd or not set(names) >= NEEDED or path.stat().st_size > LARGEST:
        sys.exit(
            f"{path.name}: missing {sorted(NEEDED - set(names))}, odd {odd[:5]}, {path.stat().st_size} bytes"
        )
    if f"tensorm-{version}.dist-info/licenses/LICENSE" not in names:
        sys.exit(f"{path.name} holds no license.")
    return version


def check_sdist(path: Path) -> str:
    """Return the sdist's version, or exit with what is wrong."""
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for needed in ("pyproject.toml", "LICENSE", "CITATION.cff", "src/tensorm/__init__.py", "tests/naive.py"):
        if needed not in names:
            sys.exit(f"{path.name} holds no {needed}.")
    return path.name.removeprefix("tensorm-").removesuffix(".tar.gz")


def main(folder: str, *options: str) -> None:
    """Check both files, the citation, the changelog, and the tag if there is one."""
    (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    version = check_wheel(wheel)
    cited = re.search(r"^version: (\S+)$", Path("CITATION.cff").read_text("utf-8"), re.M)
    tags = [option.removeprefix("--tag=v") for option in options]
    versions = {version, check_sdist(sdist), cited[1] if cited else "none", *tags}
    if len(versions) > 1:
        sys.exit(
            f"Versions differ between wheel, sdist, CITATION.cff and tag: {', '.join(sorted(versions))}."
        )
    changes = Path("CHANGELOG.md").read_text("utf-8")
    if f"\n## {version} (" not in changes:
        sys.exit(f"CHANGELOG.md has no section {version}.")
    if tags and f"\n## {version} (unreleased)" in changes:
        sys.exit(f"CHANGELOG.md calls {version} unreleased; give the date.")
    print(f"{wheel.name} and {sdist.name} are as they should be.")


if __name__ == "__main__":
    main(*sys.argv[1:])
