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
    version = path.name.split("-")[1]
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        about = archive.read(f"tensorm-{version}.dist-info/METADATA").decode()
    check_metadata(about)
    own = [name for name in names if not name.startswith(f"tensorm-{version}.dist-info/")]
    odd = [name for name in own if not name.startswith("tensorm/") or Path(name).suffix not in ENDINGS]
    if odd or not set(names) >= NEEDED or path.stat().st_size > LARGEST:
        sys.exit(
            f"{path.name}: missing {sorted(NEEDED - set(names))}, odd {odd[:5]}, {path.stat().st_size} bytes"
        )
    if f"tensorm-{version}.dist-info/licenses/LICENSE" not in names:
        sys.exit(f"{path.name} holds no license.")
    return version


def check_metadata(about: str) -> None:
    """Exit if PyPI would show links to nowhere, or if the recipe for conda needs other versions than pip."""
    here = re.findall(r"\]\((?!https?://)[^)]*\)", about)
    if here:
        sys.exit(f"The description on PyPI has links that lead nowhere there: {', '.join(here[:5])}.")
    needed = re.findall(r"^Requires-Dist: ([^;\n]*)$", about, re.M)
    by_pip = {spread(re.sub(r"\[.*?\]", "", line)) for line in needed}
    recipe = Path("packaging/conda/recipe.yaml").read_text("utf-8")
    run = recipe.partition("\n  run:\n")[2].partition("\ntests:")[0]
    by_conda = {spread(line) for line in re.findall(r"^    - ([\w-]+(?: [<>=!,.\d]+)?)$", run, re.M)}
    by_conda -= {("matplotlib-base", ())}  # conda has no extras
    if by_pip != by_conda:
        sys.exit(f"pyproject.toml and the recipe for conda differ in {sorted(by_pip ^ by_conda)}.")


def spread(requirement: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a package and its bounds in order."""
    name, bounds = re.fullmatch(r"([\w-]+) ?(.*)", requirement).groups()  # type: ignore[union-attr]
    return name, tuple(sorted(filter(None, bounds.split(","))))


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
    packed = re.search(r'^  version: "(\S+)"$', Path("packaging/conda/recipe.yaml").read_text("utf-8"), re.M)
    repeated = [found[1] if found else "none" for found in (cited, packed)]
    versions = {version, check_sdist(sdist), *repeated, *tags}
    if len(versions) > 1:
        found = ", ".join(sorted(versions))
        sys.exit(f"Versions differ between wheel, sdist, CITATION.cff, recipe and tag: {found}.")
    changes = Path("CHANGELOG.md").read_text("utf-8")
    if f"\n## {version} (" not in changes:
        sys.exit(f"CHANGELOG.md has no section {version}.")
    if tags and f"\n## {version} (unreleased)" in changes:
        sys.exit(f"CHANGELOG.md calls {version} unreleased; give the date.")
    print(f"{wheel.name} and {sdist.name} are as they should be.")


if __name__ == "__main__":
    main(*sys.argv[1:])
