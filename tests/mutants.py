"""Small deliberate errors, each of which the quick tests must catch: ``python tests/mutants.py``, by hand.

Every error is made in a copy of the package, and the tests named beside it run against the copy until one
fails. Run it after tests were cut, and add the error that a new test is for. A number or a part of a path
picks some: ``python tests/mutants.py sampler``. Those in kernels compile for a minute each.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Mutant(NamedTuple):
    path: str  # in src/tensorm
    right: str
    wrong: str
    tests: str  # in tests


MUTANTS = [
    Mutant(
        "posterior/draws.py",
        'vars(measured)["_remembered"] = self._remembered',
        "pass",
        "posterior/test_draws.py",
    ),
    Mutant("kernels/predict.py", "p = 1 / 479001600", "p = 0.0", "kernels/test_predict.py"),
    Mutant(
        "kernels/decisions.py",
        "self.loss * (tot - pos)",
        "self.loss * tot",
        "contract/test_update.py -k dense",
    ),
    Mutant(
        "kernels/decisions.py",
        "return -np.log(u) if entry.active else np.log(u)",
        "return -np.log(u) if entry.active else np.log(u) * 2",
        "contract/test_update.py -k dense",
    ),
    Mutant(
        "kernels/decisions.py",
        "if kind == GIBBS or (least == 0 and most == 0):",
        "if kind == GIBBS:",
        "contract/test_update.py sampler/test_exactness.py -k dense-or-exact",
    ),
    Mutant(
        "kernels/rows.py",
        "v.store_words(workspace, place + SINGLE * width, v.without(single, v.without(bits, free)))",
        "v.store_words(workspace, place + SINGLE * width, v.without(single, bits))",
        "contract/test_update.py -k dense",
    ),
    Mutant(
        "sampler/two_rates.py",
        "self.b + tn, 0.0, high",
        "self.b + tn + 1, 0.0, high",
        "sampler/test_exactness.py",
    ),
    Mutant(
        "sampler/two_rates.py", "self.b + wrong, low", "self.b + wrong + 1, low", "sampler/test_exactness.py"
    ),
    Mutant(
        "sampler/two_rates.py",
        "hit = truncated_beta(self.a + tp",
        "hit = truncated_beta(1.0 + tp",
        "sampler/test_exactness.py sampler/test_geweke.py",
    ),
    Mutant(
        "sampler/prior.py",
        "betaincinv(self.a + ones, self.b + entries",
        "betaincinv(self.a + ones + 1, self.b + entries",
        "sampler/test_exactness.py",
    ),
    Mutant(
        "sampler/prior.py",
        "return np.array([[math.log(p / (1 - p))]])",
        "return np.array([[math.log(p)]])",
        "sampler/test_exactness.py sampler/test_geweke.py",
    ),
    Mutant(
        "sampler/sample.py",
        "confusion if burn_in.is_whole else None",
        "confusion",
        "sampler/test_stages.py -k settled",
    ),
    Mutant(
        "sampler/stages.py",
        "whole.target.prior.searched(part, whole.tensor.shape)",
        "whole.target.prior",
        "sampler/test_stages.py -k count_less",
    ),
    Mutant(
        "tensors/cached_compared.py",
        "for mode in (ABOVE, BELOW)], axis=(0, 1)",
        "for mode in (ABOVE,)], axis=(0, 1)",
        "tensors/test_cached_compared.py",
    ),
    Mutant(
        "sampler/sweep.py",
        "return tensor.update_all(state.factors, rules, target.stream(chain, state.sweep, 0))",
        "return tensor.update_all(state.factors, rules, target.stream(chain, state.sweep // 2, 0))",
        "sampler/test_exactness.py",
    ),
    Mutant(
        "sampler/sweep.py",
        "return np.argsort(uniforms(self.stream(chain, sweep, ORDER), 0, self.n_components))",
        "return np.argsort(uniforms(self.stream(chain, 0, ORDER), 0, self.n_components))",
        "sampler/test_sweep.py sampler/test_exactness.py",
    ),
    Mutant(
        "sampler/comparisons.py",
        "truncated_beta(a, b, MIN_AGREEMENT",
        "truncated_beta(a + 1, b, MIN_AGREEMENT",
        "sampler/test_comparisons.py",
    ),
    Mutant(
        "posterior/align.py",
        "similarity(reference, means), maximize=True",
        "similarity(reference, means)",
        "posterior",
    ),
    Mutant("posterior/align.py", "LOG_ODDS + 3 * spread", "LOG_ODDS + 30 * spread", "posterior"),
    Mutant("posterior/stacking.py", "+ pull @ np.log(weights)", "", "posterior/test_stacking.py"),
    Mutant("posterior/stacking.py", "total / max(len(part), 1)", "1.0", "posterior/test_stacking.py"),
    Mutant("posterior/predict.py", "1 - np.prod(1 - together, axis=1)", "together.max(axis=1)", "posterior"),
    Mutant(
        "posterior/scores.py",
        "return score_cells(ones, chances, posterior.base_rate)",
        "return score_cells(ones, chances)",
        "posterior/test_scores.py estimator/test_machine.py",
    ),
    Mutant(
        "selection/validation.py",
        "math.sqrt(1 / repeats + test_size / (1 - test_size))",
        "math.sqrt(1 / repeats)",
        "selection",
    ),
    Mutant(
        "data/columns.py",
        "parts[1::2] = [(len(digits), digits)",
        "parts[1::2] = [(0, digits)",
        "data tensors/test_read.py",
    ),
    Mutant("data/columns.py", "numbers >= threshold", "numbers > threshold", "data tensors/test_read.py"),
    Mutant(
        "data/columns.py",
        "return numbers.astype(np.int64)[column.codes] - first",
        "return numbers.astype(np.int64)[column.codes]",
        "data tensors/test_read.py",
    ),
    Mutant("tensors/holdout.py", "cells[hidden] = np.nan", "cells[hidden] = 0", "tensors/test_holdout.py"),
    Mutant(
        "tensors/holdout.py",
        "share, ratio, rng)",
        "share, 1.0, rng)",
        "tensors/test_holdout.py tensors/test_sparse.py",
    ),
    Mutant("storage/checkpoints.py", 'if file.word("run") != self.run:', "if False:", "storage"),
    Mutant("storage/chain.py", "if np.isnan(table).any():", "if False:", "storage"),
    Mutant(
        "report/describe.py",
        "members = [mean > MEMBER for mean in posterior.factors]",
        "members = [mean > 0 for mean in posterior.factors]",
        "report/test_describe.py",
    ),
    Mutant(
        "report/describe.py",
        "np.count_nonzero(means > SURE)",
        "np.count_nonzero(means > MEMBER)",
        "report/test_describe.py",
    ),
    Mutant("cli/fit.py", '"auto" if (name, given[name])', "0 if (name, given[name])", "cli"),
    Mutant("cli/results.py", "members(threshold)", "members()", "cli/test_commands.py -k again"),
    # What files from strangers and unlucky moments must not do (docs/files.md).
    Mutant(
        "storage/checkpoints.py",
        'if file.word("run") != self.run:',
        'if file.word("run") == "":',
        "storage/test_checkpoints.py",
    ),
    Mutant(
        "storage/chain.py",
        "if np.any(bits[..., -1] >> bits.dtype.type(used)):",
        "if bits.size < 0:",
        "storage/test_checkpoints.py",
    ),
    Mutant(
        "data/inputs.py",
        "if not (inside and (bounds[1:] >= bounds[:-1]).all()):",
        "if not inside:",
        "hostile/test_inputs.py -k sparse",
    ),
    Mutant("data/zarr.py", "if name not in CODECS]", 'if name == ""]', "hostile/test_inputs.py -k codecs"),
    Mutant(
        "data/text.py",
        "        if exact:\n            self.keep_texts([name])\n",
        "",
        "data/test_text.py hostile/test_tables.py",
    ),
    Mutant(
        "data/text.py", 'comment="#" if self.coordinates else None', 'comment="#"', "hostile/test_tables.py"
    ),
    Mutant(
        "sampler/burnin.py",
        "if state.sweep >= self.length else None",
        "if state.sweep >= min(self.length, 2000) else None",
        "sampler/test_burnin.py",
    ),
    Mutant(
        "sampler/sweep.py",
        "value += target.prior.log_probability(mode, state.factors)",
        "value += mode",
        "sampler/test_log_posterior.py",
    ),
    Mutant(
        "storage/files.py",
        "FileLock(path, timeout=0, is_singleton=True)",
        "FileLock(f'{path}{os.getpid()}', timeout=0)",
        "storage/test_owner.py",
    ),
    Mutant(
        "kernels/stored.py",
        "        except OSError:\n            continue\n",
        "        except ZeroDivisionError:\n            continue\n",
        "kernels/test_stored.py",
    ),
    Mutant(
        "data/hdf5.py",
        "if item.is_virtual or item.external:",
        "if item.is_virtual:",
        "hostile/test_inputs.py -k forgeries",
    ),
    Mutant(
        "data/hdf5.py",
        "if not isinstance(group.get(name, getlink=True), h5py.HardLink):",
        'if name == "":',
        "hostile/test_inputs.py -k forgeries",
    ),
    Mutant("data/hdf5.py", "if size > most:", "if size < 0:", "hostile/test_inputs.py -k forgeries"),
    Mutant(
        "data/text.py",
        "FREE_UNPACKED_BYTES = 2**26",
        "FREE_UNPACKED_BYTES = 2**40",
        "data/test_text.py -k unpack",
    ),
    Mutant(
        "cli/results.py",
        'return f"\'{text}" if text.startswith(FORMULA)',
        "return f\"'{text}\" if text.startswith('=')",
        "hostile/test_text.py",
    ),
    Mutant(
        "errors.py",
        "super().__init__(printable(message))",
        "super().__init__(message)",
        "hostile/test_text.py",
    ),
    Mutant(
        "storage/files.py",
        "except (OSError, ValueError, RecursionError) as error:",
        "except OSError as error:",
        "storage/test_files.py",
    ),
    Mutant(
        "storage/files.py",
        "if not isinstance(path, (str, os.PathLike)) or not str(path)",
        "if not str(path)",
        "hostile/test_api.py",
    ),
    Mutant(
        "storage/run.py",
        "if given.shape != shape or given.digest() != known:",
        "if given.shape != shape:",
        "storage/test_run.py",
    ),
    Mutant("storage/files.py", "    check_links(folder)\n", "", "storage/test_run.py"),
    Mutant(
        "storage/files.py",
        "    signal.signal(signal.SIGTERM, _stop)\n",
        "",
        "storage/test_owner.py",
    ),
    Mutant(
        "report/plots/style.py", r'return text.replace("$", r"\$")', "return text", "hostile/test_text.py"
    ),
    Mutant(
        "data/opening.py",
        '    except Exception as error:\n        raise FileError(f"{file} cannot be read as',
        '    except OSError as error:\n        raise FileError(f"{file} cannot be read as',
        "hostile/test_inputs.py -k damaged",
    ),
    Mutant(
        "data/hdf5.py",
        "        with at_most(FREE_TEXT_MEMORY + TEXT_GROWTH * file.stat().st_size):\n            if math",
        "        with at_most(2**40):\n            if math",
        "hostile/test_inputs.py -k forgeries",
    ),
    Mutant(
        "data/zarr.py",
        "len(content) - at - 4 * digest not in (0, 4):",
        "len(content) < 4:",
        "hostile/test_inputs.py -k forgeries",
    ),
    Mutant("data/zarr.py", "if name != CRC32C]", 'if name == ""]', "hostile/test_inputs.py -k forgeries"),
    Mutant(
        "data/opening.py",
        "if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):",
        "if member.compress_type < 0:",
        "hostile/test_inputs.py -k forgeries",
    ),
    Mutant("data/files.py", "or types.is_null(kind):", "or True:", "hostile/test_inputs.py -k forgeries"),
    Mutant(
        "sampler/prior.py",
        "return bool(np.all((p >= DENSITY_EDGE) & (p <= 1 - DENSITY_EDGE)))",
        "return bool(np.isnan(p).all() or np.all((p >= DENSITY_EDGE) & (p <= 1 - DENSITY_EDGE)))",
        "storage/test_checkpoints.py -k no_chain_leaves",
    ),
    Mutant(
        "storage/checkpoints.py",
        "most = plan.most_burn_in if burnt is None else burnt[0] + plan.n_draws",
        "most = 2**32 - 1",
        "storage/test_checkpoints.py -k sweeps_that_the_plan",
    ),
    Mutant(
        "selection/bookmarks.py",
        'sweep = read_count(form["sweep"], most_sweeps)',
        'sweep = read_count(form["sweep"], 2**32 - 1)',
        "selection/test_bookmarks.py -k 4294967295",
    ),
    Mutant(
        "storage/checkpoints.py",
        "    check_tied(file, tuple(factors), target)\n",
        "",
        "storage/test_checkpoints.py -k equal_states",
    ),
    Mutant(
        "cli/groups.py",
        "with leaving_on_sigterm(for_good=True), _showing_notes(ctx):",
        "with _showing_notes(ctx):",
        "hostile/test_kills.py -k report",
    ),
    Mutant(
        "storage/files.py",
        "            if not ENDING.is_set():\n                raise\n",
        "            pass\n",
        "storage/test_owner.py estimator/test_interrupted.py",
    ),
    Mutant(
        "sampler/chains.py",
        "        except PlainError:\n            raise\n",
        "",
        "estimator/test_load.py -k full_disk",
    ),
    Mutant(
        "storage/files.py",
        "                os.unlink(temporary)",
        "                pass",
        "storage/test_files.py",
    ),
    Mutant(
        "data/hdf5.py",
        "        if h5py.check_string_dtype(item.dtype) is None:",
        "        if item[()] is None:",
        "hostile/test_inputs.py -k forgeries",
    ),
    Mutant(
        "kernels/sparse_ranked.py",
        "return masks[i, m] & (bit - ONE) if m == word else masks[i, m]",
        "return masks[i, m]",
        "contract/test_strengths.py -k sparse",
    ),
    Mutant(
        "kernels/strengths.py",
        "        low = max(q[order[place + 1]], EDGE)",
        "        low = EDGE",
        "sampler/test_strengths.py",
    ),
    Mutant(
        "kernels/strengths.py",
        "        sum_ = self.above.a * np.log(typical) + self.above.b * np.log1p(-typical)",
        "        sum_ = np.log(typical) + np.log1p(-typical)",
        "sampler/test_strength_geweke.py -k other",
    ),
    Mutant(
        "kernels/ranked.py",
        "(loss - min(zeros, shared) * scores[strongest])",
        "loss",
        "contract/test_strengths.py -k sparse",
    ),
    Mutant(
        "kernels/slices.py",
        "            renew(self.cells)",
        "            pass",
        "kernels/test_ranked.py -k dense-symmetric",
    ),
    Mutant(
        "kernels/activities.py",
        "        self.maps.size[0] = UNKNOWN",
        "        pass",
        "kernels/test_activities.py -k storage",
    ),
    Mutant(
        "kernels/activities.py",
        "levels[i] != columns[t]",
        "levels[i] > columns[t]",
        "kernels/test_activities.py -k storage",
    ),
    Mutant(
        "kernels/strengths.py",
        "winner = group if q[group] > q[probe] else probe",
        "winner = probe",
        "kernels/test_strengths.py -k constant",
    ),
    Mutant(
        "sampler/strength_models.py",
        "times = 2 if pair and k == pair[0] else 1",
        "times = 1",
        "kernels/test_strengths.py -k activities_as",
    ),
    Mutant(
        "kernels/activities.py",
        "return self.share * (gain * UNIT - self.exposure * rate)",
        "return (gain * UNIT - self.exposure * rate)",
        "kernels/test_strengths.py -k activities_as",
    ),
    Mutant(
        "sampler/strengths.py",
        "(levels, weights, 0, WINDOW), stream)",
        "(levels, weights, 0, 0), stream)",
        "kernels/test_strengths.py -k slices",
    ),
    Mutant(
        "sampler/strength_models.py",
        "int(ones[0, :-1].sum() + ones[1].sum())",
        "int(ones[0, :-1].sum())",
        "contract/test_strengths.py -k dense",
    ),
    Mutant(
        "sampler/strength_models.py",
        "trend: ClassVar[int] = 100",
        "trend: ClassVar[int] = 25",
        "sampler/test_burnin.py",
    ),
    Mutant(
        "tensors/ranked.py",
        "        return ranked.permuted(self.back)",
        "        return ranked",
        "contract/test_strengths.py -k dense",
    ),
    Mutant(
        "kernels/sweeps.py",
        "ones, seen = ones + pos, seen + tot",
        "ones, seen = ones + pos, seen + pos",
        "contract/test_update.py -k dense",
    ),
    Mutant(
        "sampler/search/rounds.py",
        "if number == 1 or self._melts(number):",
        "if number == 99:",
        "sampler/search/test_heating.py -k busy",
    ),
    Mutant(
        "sampler/search/rounds.py",
        "return hot, score_sum / self.SCORED",
        "return hot, -float(hot.sweep)",
        "sampler/search/test_heating.py -k busy",
    ),
    Mutant(
        "sampler/search/rounds.py",
        "return log_posterior(self.target, state, likelihood) - state.noise.information(self.tensor)",
        "return log_posterior(self.target, state, likelihood)",
        "sampler/search/test_heating.py -k swallow",
    ),
    Mutant(
        "sampler/search/seeding.py",
        "joined = self._noise.log_ratio(pos, tot - pos) > 0",
        "joined = self._noise.log_ratio(pos, tot) > 0",
        "sampler/search/test_seeding.py",
    ),
    Mutant(
        "sampler/search/seeding.py",
        "rise = rise + target.log_prior(mode, more, N) - target.log_prior(mode, ones, N)",
        "rise = rise + target.log_prior(mode, more, N) - target.log_prior(mode, more, N)",
        "sampler/search/test_seeding.py -k rises",
    ),
    Mutant(
        "sampler/search/seeding.py",
        "better = new is not old and new.score > old.polished().score + CHANCE_GAIN",
        "better = new is not old",
        "sampler/search/test_seeding.py -k improve-or-pay",
    ),
    Mutant(
        "sampler/search/seeding.py",
        "if rival is not None and part.drawn and found.score <= part.cut(rival).polished().score:",
        "if rival is not None and part.drawn:",
        "sampler/search/test_seeding.py -k large",
    ),
    Mutant(
        "sampler/search/pairs.py",
        "first + rng.integers(1, few, size=count)",
        "first + rng.integers(0, few, size=count)",
        "sampler/search/test_pairs.py -k different",
    ),
    Mutant(
        "sampler/search/pairs.py",
        "return largest * summed < EXACT",
        "return True",
        "sampler/search/test_pairs.py -k exact",
    ),
    Mutant(
        "sampler/search/pairs.py",
        "        scores += one\n        return",
        "        return",
        "sampler/search/test_pairs.py -k ratios",
    ),
    Mutant(
        "sampler/search/explanation.py",
        "left[used] += target.log_prior(mode, rest, len(factor))",
        "left[used] += target.log_prior(mode, ones, len(factor))",
        "sampler/search/test_explanation.py",
    ),
    Mutant(
        "sampler/search/heating.py",
        "if score > heat.base_score - SLACK * rng.exponential():",
        "if score > heat.base_score:",
        "sampler/search/test_heating.py -k go_on_from",
    ),
    Mutant(
        "sampler/search/heating.py",
        "if gain > CHANCE_GAIN:",
        "if gain > -50:",
        "sampler/search/test_heating.py",
    ),
    Mutant(
        "sampler/search/heating.py",
        "most = min(heat.planned + PER_NAT * (heat.best_score - heat.first_score), self.affordable)",
        "most = heat.planned + PER_NAT * (heat.best_score - heat.first_score)",
        "sampler/search/test_heating.py -k gains",
    ),
    Mutant(
        "sampler/search/rounds.py",
        "return self.affordable if is_more_to_find(best, rng) else FEW_ROUNDS, best.score",
        "return FEW_ROUNDS, best.score",
        "sampler/search/test_heating.py -k worth_while",
    ),
    Mutant(
        "storage/checkpoints.py",
        '"heat_score_sum": np.array([heat.score_sum]),',
        '"heat_score_sum": np.array([0.0]),',
        "storage/test_checkpoints.py -k strengths",
    ),
    Mutant(
        "posterior/draws.py",
        "return np.minimum(total, 1.0, out=total)",
        "return total",
        "posterior/test_draws.py -k exceeds",
    ),
    Mutant(
        "posterior/draws.py",
        "return contributions(tensor, self.member_factors(threshold),",
        "return contributions(tensor, self.member_factors(),",
        "report/page/test_browser.py -k threshold",
    ),
    Mutant(
        "report/page/cells.py",
        "np.maximum(shares, shares.T)[",
        "shares[",
        "report/page/test_content.py -k pairs",
    ),
    Mutant(
        "report/page/scripts/map.js",
        "ranked([j], l).map",
        "members(j, l).map",
        "report/page/test_browser.py -k all_members",
    ),
    Mutant(
        "posterior/diagnostics.py",
        "for means in posterior.factors) <= SURE",
        "for means in posterior.factors) <= 0",
        "report/test_describe.py -k sure_member",
    ),
    Mutant("data/times.py", "if (days == times).all():", "if False:", "data/test_guess.py -k dates"),
    Mutant(
        "data/times.py", "(days.astype(np.int64) + 3) % 7", "days.astype(np.int64) % 7", "data/test_times.py"
    ),
    Mutant("data/columns.py", "odd = [-1, *(n", "odd = [-1, *(n + 1", "data/test_guess.py -k mean_missing"),
    Mutant(
        "report/page/scripts/model.js",
        "page.levels.told[page.levels.at[Math.round(value * STEPS_OF_THRESHOLD) - 1]]",
        "page.levels.told[page.levels.at[9]]",
        "report/page/test_browser.py -k threshold",
    ),
    Mutant(
        "posterior/modes.py",
        "return members[np.lexsort((-p, *keys[::-1]))]",
        "return members[np.lexsort((-p, *keys))]",
        "report/page/test_browser.py -k members_first",
    ),
    Mutant(
        "report/describe.py",
        "if 2 * times.max() > len(draws):",
        "if True:",
        "report/test_describe.py -k active",
    ),
    Mutant(
        "report/describe.py",
        "np.array(x)[full] if axes.get(name) == COMPONENT else x",
        "x",
        "report/test_describe.py -k members",
    ),
    Mutant(
        "selection/noise.py",
        "gains = np.append(gains, found) if few else found",
        "gains = found",
        "selection/test_noise.py -k few",
    ),
    Mutant(
        "posterior/diagnostics.py",
        'return " ".join(added) if noise else self.conclusion',
        'return "" if noise else self.conclusion',
        "report/test_describe.py -k hide",
    ),
]


def find(mutant: Mutant, folder: Path) -> str:
    """What the tests say: caught, survived, or that there is no such text any more."""
    shutil.copytree(
        ROOT / "src", folder
    )  # with its compiled code, which serves while kernels are as they were
    file = folder / "tensorm" / mutant.path
    text = file.read_text()
    if mutant.right not in text:
        return "STALE: the text is not there"
    file.write_text(text.replace(mutant.right, mutant.wrong, 1))
    where, *chosen = mutant.tests.replace("-or-", " or ").split(" -k ")
    paths = [str(ROOT / "tests" / path) for path in where.split()]
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", *paths]
    command += ["-k", chosen[0]] if chosen else []
    variables = os.environ | {"PYTHONPATH": str(folder), "MPLBACKEND": "Agg", "TENSORM_HOSTILE_SECONDS": "5"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, errors="replace")
    if done.returncode not in (0, 1):
        return f"ERROR {done.returncode}: {done.stdout[-300:]}"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return f"caught by {failed[0].split()[1]}" if failed else "SURVIVED"


def main(wanted: list[str]) -> int:
    bad = 0
    for number, mutant in enumerate(MUTANTS):
        if wanted and not any(word == str(number) or word in mutant.path for word in wanted):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = find(mutant, Path(folder) / "src")
        bad += not found.startswith("caught")
        print(
            f"{number:2} {mutant.path}: {mutant.wrong or 'without ' + mutant.right}\n   {found}", flush=True
        )
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
