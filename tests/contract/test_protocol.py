"""The verbs that the rest of the package calls instead of asking for a kind, on every kind of tensor."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tensorm
from makers import Kind, compare, dense
from problems import make_problem
from tensorm.errors import InputError
from tensorm.tensors import GIBBS, Rule, Stream, Weights, blocks
from tensorm.tensors.pick import from_arrays
from tensorm.tensors.protocol import MISSING, Tensor
from tensorm.tensors.weights import with_steps

SHAPES = [(6, 9), (5, 4, 7), (3, 2, 4, 3)]
SOURCE = Path(tensorm.__file__).parent


def read(tensor: Tensor) -> tuple[np.ndarray, np.ndarray]:
    ((_, ones, observed),) = tensor.blocks(max_cells=10**6)
    return ones, observed


@pytest.mark.parametrize("missing", [None, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_keys_name_the_cells(kind: Kind, shape: tuple[int, ...], missing: float | None) -> None:
    tensor, problem = kind.store(make_problem(shape, 2, 1, missing, 0.5))
    ones, seen = (problem.ones & problem.seen).ravel(), problem.seen.ravel()
    for unlisted, others in (("missing", seen & ~ones), ("zero", ~seen)):
        found = tensor.listed_keys(unlisted)
        np.testing.assert_array_equal(found[0], np.flatnonzero(ones))
        np.testing.assert_array_equal(found[1], np.flatnonzero(others))
    known = tensor.find_known(np.where(seen, ones, MISSING))
    assert (known == seen).all() or (known == ones).all()
    cells = np.indices(tensor.shape).reshape(len(tensor.shape), -1)
    for mode, size in enumerate(tensor.shape):
        here = tensor.known_keys(mode, size - 1)
        np.testing.assert_array_equal(np.sort(here), np.flatnonzero(known & (cells[mode] == size - 1)))


def test_cells_are_read_by_their_indices(kind: Kind) -> None:
    tensor, problem = kind.store(make_problem((5, 4, 7), 2, 2, 0.3, 0.5))
    part = [np.arange(size)[::-2] for size in tensor.shape]
    expected = np.where(problem.seen, problem.ones, MISSING)[np.ix_(*part)]
    np.testing.assert_array_equal(tensor.read_cells(part), expected)


@pytest.mark.parametrize("missing", [None, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_and_back(kind: Kind, shape: tuple[int, ...], missing: float | None) -> None:
    """Or a sentence, where the cells are elsewhere; then their counts are known again."""
    tensor, problem = kind.store(make_problem(shape, 2, 3, missing, 0.5))
    arrays = tensor.arrays()
    if "digest" in arrays:
        same = tensor if kind.fit is compare else dense(problem)  # comparisons are digested by their ranks
        assert arrays["digest"].tobytes().hex() == same.digest()
        with pytest.raises(InputError, match="it has no cells"):
            from_arrays(arrays, tensor.shape)
        return
    again = from_arrays(arrays, tensor.shape)
    for bits, expected in zip(read(again), read(tensor), strict=True):
        np.testing.assert_array_equal(bits, expected)


def test_a_digest_changes_with_a_cell(kind: Kind) -> None:
    tensor, problem = kind.store(make_problem((5, 4, 7), 2, 4, 0.3, 0.5))
    other, _ = kind.store(make_problem((5, 4, 7), 2, 5, 0.3, 0.5))
    assert tensor.digest() == kind.make(problem).digest() == tensor.with_threads(2).digest()
    assert tensor.digest() != other.digest()


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_are_split_in_two(kind: Kind, shape: tuple[int, ...]) -> None:
    tensor, problem = kind.store(make_problem(shape, 2, 6, 0.2, 0.6))
    train, cells, values = tensor.split(0.4, np.random.default_rng(0))
    ones, observed = read(train)
    held = np.zeros(tensor.shape, bool)
    held[tuple(cells.T)] = True
    assert 0 < np.count_nonzero(held) == len(cells) == len(values)
    np.testing.assert_array_equal(observed, problem.seen & ~held)
    np.testing.assert_array_equal(ones, problem.ones & observed)
    np.testing.assert_array_equal(values, problem.ones[tuple(cells.T)])
    assert train.pair == tensor.pair
    if tensor.mirrored is not None:
        np.testing.assert_array_equal(held, held.swapaxes(*tensor.mirrored))


def test_cells_are_hidden(kind: Kind) -> None:
    """Or a sentence says what to do instead."""
    tensor, problem = kind.store(make_problem((5, 4, 7), 2, 7, 0.2, 0.5))
    mask = tensor.choose_mask(0.3, np.random.default_rng(0))[0]
    try:
        ones, observed = read(tensor.hide(mask))
    except InputError as error:
        assert str(error).endswith("use its hold_out instead.")  # noqa: PT017
        return
    np.testing.assert_array_equal(observed, problem.seen & ~mask)
    np.testing.assert_array_equal(ones, problem.ones & observed)


def test_two_modes_are_found_to_be_exchangeable_or_not(kind: Kind) -> None:
    tensor, _ = kind.store(make_problem((4, 6, 6), 2, 8, 0.2, 0.5))
    if tensor.pair is not None:
        tensor.check_mirrored(tensor.pair)
        return
    with pytest.raises(InputError, match=r"X has observed|X is not the same|modes on a cluster cannot share"):
        tensor.check_mirrored((1, 2))


def test_rows_that_share_a_factor_take_turns_inside_a_kernel(kind: Kind, monkeypatch) -> None:
    """One call for all rows, and never an update row by row; a kind without such a kernel says so."""
    tensor, problem = kind.store(make_problem((4, 6, 6), 2, 8, 0.2, 0.5))
    tensor, pair = (tensor, (1, 2)) if tensor.pair is None else (tensor.tensor, tensor.pair)
    monkeypatch.setattr(type(tensor), "_update", None)
    rule = with_steps(Rule(np.arange(2), GIBBS, Weights(1.0, 1.0), np.zeros((1, 1))), (6, 2))
    shared = problem.masks.replace(2, problem.masks[1])
    try:
        new = tensor.update_tied(pair, shared, rule, Stream(np.uint64(0), 0, 0, 1), np.arange(6))
    except InputError as error:
        assert "cannot share a factor; leave it out." in str(error)  # noqa: PT017
        assert tensor.pair is None
        return
    assert (new != shared[1]).any()


def test_two_modes_are_tied(kind: Kind) -> None:
    tensor, problem = kind.store(make_problem((4, 6, 6), 2, 8, 0.2, 0.5))
    assert tensor.tied(None) is tensor
    if problem.pair is not None:
        part = [np.arange(2)] * 3
        assert tensor.take(part).tied(tensor.pair).pair == problem.pair


def test_what_a_tensor_says_of_itself(kind: Kind) -> None:
    tensor, _ = kind.store(make_problem((5, 4, 7), 2, 9, 0.2, 0.5))
    assert {*tensor.storage.split(" and ")} <= {"dense", "sparse"}
    assert tensor.nbytes > 0
    assert bool(tensor.caveat) == (kind.fit is compare)  # which counts each comparison as two facts
    assert len(tensor.modes) == len(tensor.labels) == len(tensor.shape)
    assert tensor.cached(2).shape == tensor.compact().shape == tensor.shape
    small = tensor.miniature()
    assert small is None or max(small.shape) <= 2
    rows = tensor.sample_slices(1)
    assert rows is None or 0 < len(rows) < tensor.shape[0]


@pytest.mark.parametrize("whole", [False, True])
def test_observed_cells_are_sampled(kind: Kind, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ones and zeros, all that there are or some of them."""
    tensor, problem = kind.store(make_problem((5, 4, 7), 2, 2, 0.3, 0.5))
    if not whole:
        monkeypatch.setattr(blocks, "READ_WHOLE", 100)
    found = tensor.sample_observed(np.random.default_rng(0), 10**6 if whole else 3)
    for value, cells in zip((True, False), found, strict=True):
        assert len(cells) == (np.count_nonzero(problem.seen & (problem.ones == value)) if whole else 3)
        assert problem.seen[tuple(cells.T)].all()
        assert (problem.ones[tuple(cells.T)] == value).all()


class Numbered(NamedTuple):
    """Predicts of each cell its number."""

    shape: tuple[int, ...]

    def predict_block(self, start: int, stop: int) -> np.ndarray:
        return np.arange(np.prod(self.shape), dtype=float).reshape(self.shape)[start:stop]

    def predict_cells(self, indices: Sequence[np.ndarray]) -> np.ndarray:
        return np.ravel_multi_index([*indices], self.shape).astype(float)


def test_observed_cells_are_predicted(kind: Kind) -> None:
    tensor, problem = kind.store(make_problem((5, 4, 7), 2, 2, 0.3, 0.5))
    mask = problem.rng.random(tensor.shape) < 0.5
    for chosen in (None, mask):
        pairs = tensor.predict_observed(Numbered(tensor.shape), chosen)
        ones, numbers = (np.concatenate(part) for part in zip(*pairs, strict=True))
        wanted = problem.seen & (True if chosen is None else mask)
        np.testing.assert_array_equal(np.sort(numbers), np.flatnonzero(wanted))
        np.testing.assert_array_equal(problem.ones.ravel()[numbers.astype(int)], ones)


def test_a_part_has_pairs_together_or_none(kind: Kind) -> None:
    tensor, _ = kind.store(make_problem((5, 4, 7), 2, 2, 0.3, 0.5))
    part = tensor.choose_part(lambda: [np.array([n]) for n in range(len(tensor.shape))], tensor.pair)
    mirrored = tensor.mirrored
    assert part is None or mirrored is None or part[mirrored[0]] is part[mirrored[1]]
    assert tensor.choose_part(lambda: None, tensor.pair) is None


@cache
def kinds() -> set[str]:
    """The names of all kinds of tensor."""
    found, todo = {"Tensor"}, [Tensor]
    while todo:
        todo += (more := todo.pop().__subclasses__())
        found |= {kind.__name__ for kind in more if kind.__module__.startswith("tensorm.")}
    return found


STORAGES = {"dense", "sparse", "listed", "cached", "symmetric", "relational", "sharded", "dask"}


def mentions(node: ast.AST) -> set[str]:
    """All names, attributes and texts in a piece of code."""
    parts = list(ast.walk(node))
    found = {part.id for part in parts if isinstance(part, ast.Name)}
    found |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return found | {
        part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


def is_question(node: ast.AST) -> bool:
    """Whether this asks what kind of tensor something is."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        named = set().union(*map(mentions, node.args))
        if node.func.id in ("isinstance", "issubclass"):
            return bool(named & kinds())
        return node.func.id in ("hasattr", "getattr", "type") and "tensor" in named
    if isinstance(node, (ast.Compare, ast.MatchClass, ast.MatchValue)):
        named = mentions(node)
        by_word = named & {"storage", "kind", "__name__", "__class__"} and named & STORAGES
        return bool(named & kinds() or by_word)
    if isinstance(node, ast.Dict):
        return any(key is not None and mentions(key) & kinds() for key in node.keys)
    return False


def find_questions(text: str) -> list[int]:
    """The lines on which somebody asks what kind of tensor something is."""
    return sorted({node.lineno for node in ast.walk(ast.parse(text)) if is_question(node)})


def test_no_kind_is_asked_for_outside_of_tensors() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if "tensors" not in path.relative_to(SOURCE).parts
        for line in find_questions(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize("room", ["tensors", "kernels"])
def test_no_noise_model_is_named(room: str) -> None:
    """A tensor says what its cells cannot do; which setting that rules out, the noise model says."""
    texts = {path.name: path.read_text() for path in (SOURCE / room).glob("*.py")}
    assert len(texts) > 20
    assert [name for name, text in texts.items() if "noise=" in text or "default_noise" in text] == []


def test_no_flag_says_what_kind_it_is(kind: Kind) -> None:
    """A caller would branch on it, where a verb could do what the caller wants."""
    tensor, _ = kind.store(make_problem((5, 4, 7), 2, 9, 0.2, 0.5))
    assert not [name for name in dir(Tensor) if isinstance(getattr(Tensor, name), bool)]
    assert not [name for name in vars(tensor) if name[0] != "_" and isinstance(vars(tensor)[name], bool)]


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(X, SparseTensor)",
        "isinstance(X, (int, tensors.DenseTensor))",
        "isinstance(X, CachedCounts | None)",
        "hasattr(tensor, 'listed')",
        "getattr(self.tensor, 'pair', None)",
        "type(tensor) is int",
        "type(X) is SparseTensor",
        "X.__class__ == tensors.DenseTensor",
        "type(X).__name__ == 'DenseTensor'",
        "X.__class__.__name__.lower() in ('dense', 'x')",
        "X.storage == 'dense'",
        "'sparse' in (given.storage, tensor.storage)",
        "X.kind != 'relational'",
        "{DenseTensor: 1}[type(X)]",
        "match X:  # first line\n    case SparseTensor(): pass",
    ],
)
def test_such_a_test_is_found(text: str) -> None:
    assert len(find_questions(text)) == 1
    harmless = "isinstance(X, Posterior) or type(X) or getattr(X, 'shape') or way == 'dense' or {'dense': 1}"
    assert not find_questions(harmless)
