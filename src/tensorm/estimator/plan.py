"""Check an estimator's settings and X, and turn them into a tensor and a plan for the chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.checks import (
    MAX_COMPONENTS,
    MAX_REPEATS,
    as_array,
    check_amount,
    check_beta,
    check_bits,
    check_choice,
    check_count,
    check_flag,
    check_probability,
    check_tables,
    is_list,
    short,
)
from tensorm.data.coordinates import MAX_MODES
from tensorm.errors import InputError
from tensorm.posterior.draws import check_draws_fit
from tensorm.sampler.models import BACKGROUNDS, NOISE_UPDATES, find_model, find_suitable, list_choices
from tensorm.sampler.noise_model import NoiseModel
from tensorm.sampler.prior import FactorPrior, FixedPrior, LearnedPrior, ShortSides
from tensorm.sampler.sample import Plan
from tensorm.sampler.sweep import FLIPS, Target
from tensorm.sampler.two_rates import CONTRAST
from tensorm.tensors import Tensor, read
from tensorm.tensors.holdout import check_symmetric

if TYPE_CHECKING:
    from tensorm.estimator.machine import TensOrMachine

AUTO, STRENGTHS, TWO_RATES = "auto", "strengths", "asymmetric"
INITS = ("data", "random", "coins")  # what ``init`` may be, beside factors
LARGEST_LAMBDA = 30.0  # where the share of errors is still a number


def make_tensor(X: Any, symmetric: Any, options: Mapping[str, Any] = MappingProxyType({})) -> Tensor:
    """Return the cells as a tensor, mirrored if two modes share a factor; options are those of ``read``."""
    _, *known = signature(read).parameters  # but the source
    for name in options:
        if name not in known:
            close = get_close_matches(name, known, 1)
            remedy = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}."
            raise InputError(f"{name} is not an option of tensorm.read; {remedy}")
    tensor = read(X, **options)
    return tensor.tied(check_symmetric(symmetric, tensor.modes, tensor.shape))


def make_plan(settings: TensOrMachine, tensor: Tensor) -> Plan:
    """Check every setting and return how to run the chains."""
    L = _check_number(settings)
    counts = (("n_chains", settings.n_chains), ("n_draws", settings.n_draws))
    n_chains, n_draws = (check_count(name, value, 1, most=MAX_REPEATS) for name, value in counts)
    noise = _make_noise(settings, tensor)
    check_flag("progress", settings.progress)
    check_choice("flips", settings.flips, tuple(FLIPS))
    check_choice("order", settings.order, ("random", "fixed"))
    check_observed(tensor)
    check_draws_fit(tensor.shape, L, n_chains, n_draws)
    target = Target(
        n_components=L,
        noise=noise,
        prior=_factor_prior(settings.factor_prior, tensor.shape, L, noise),
        seed=_seed(settings.random_state),
        flips=FLIPS[settings.flips],
        shuffle=settings.order == "random",
        tied=tensor.pair,
    )
    init = settings.init
    if isinstance(init, str):
        check_choice("init", init, INITS)
    else:
        init = check_tables("init", init, tensor.shape, L, check_bits)
    sweeps = None
    if not is_auto(settings.burn_in):
        sweeps = check_count("burn_in", settings.burn_in, 0, ", or 'auto'", MAX_REPEATS)
    held = check_count("lambda_fixed", settings.lambda_fixed, 0, most=MAX_REPEATS)
    if held and sweeps is not None and held > sweeps:
        raise InputError(f"lambda_fixed is {held:,}; give at most the {sweeps:,} sweeps of burn_in.")
    return Plan(
        target,
        n_draws,
        sweeps,
        init,
        effort=check_amount("effort", settings.effort),
        noise=_start_at(settings.lambda_start, noise),
        held=held,
    )


def is_auto(setting: Any) -> bool:
    """Whether a setting is left to the fit; it may be an array."""
    return isinstance(setting, str) and setting == AUTO


def _check_number(settings: TensOrMachine) -> int:
    """Return the number of components, 1 as long as it is to be chosen."""
    if not is_auto(settings.n_components):
        return check_count("n_components", settings.n_components, 1, ", or 'auto'", MAX_COMPONENTS)
    _refuse_columns("init", settings.init)
    _refuse_columns("factor_prior", settings.factor_prior)
    return 1


def _make_noise(settings: TensOrMachine, tensor: Tensor) -> NoiseModel:
    """Return the noise model that the settings name."""
    noise, update = _name_noise(settings, tensor)
    model = find_model(noise, update, check_choice("background", settings.background, BACKGROUNDS))
    given = _check_strength_prior(settings.strength_prior, model)
    made: NoiseModel = model(*check_beta("noise_prior", settings.noise_prior), **given)
    return made


def _check_strength_prior(given: Any, model: type[NoiseModel]) -> dict[str, float]:
    """Return what ``strength_prior`` says, as fields of a noise model."""
    if given is None:
        return {}
    if not model.settable:
        raise InputError("strength_prior needs noise='strengths' or 'auto'; leave it out.")
    if not isinstance(given, Mapping):
        raise InputError(f"strength_prior is {short(given)}; give a mapping such as {{'spread': (0.01, 1)}}.")
    fields: dict[str, float] = {}
    for name, pair in given.items():
        if name not in model.settable:
            known = ", ".join(model.settable)
            raise InputError(f"strength_prior names {short(name)}; choose from {known}.")
        ends = ("a", "b") if model.settable[name] is None else ("least", "most")
        numbers = check_beta(f"strength_prior[{name!r}]", pair)
        fields |= {f"{name}_{end}": number for end, number in zip(ends, numbers, strict=True)}
    return fields


def _name_noise(settings: TensOrMachine, tensor: Tensor) -> tuple[str, str]:
    """Return which noise model to use, strengths if the fit will choose, and how it is updated."""
    noise = check_choice("noise", settings.noise, (*list_choices(), AUTO))
    noise = find_suitable(tensor) or AUTO if noise == AUTO else noise
    known = list_choices(TWO_RATES if noise == AUTO else noise)
    update = check_choice("noise_update", settings.noise_update, NOISE_UPDATES)
    if update not in known:
        raise InputError(f"noise_update={update!r} does not work with noise={noise!r}; choose {known[0]!r}.")
    if noise == AUTO:  # there is nothing to choose with a setting that strengths do not know
        noise = STRENGTHS if update == "sample" and settings.lambda_start is None else TWO_RATES
    return noise, update


def _refuse_columns(name: str, value: Any) -> None:
    """Raise if a setting depends on the number of components, which is to be chosen."""
    parts = value[: MAX_MODES + 1] if is_list(value) else [value]
    if any(map(is_list, parts)):
        raise InputError(f"{name} has a column per component, but n_components is 'auto'; give a number.")


def _factor_prior(given: Any, shape: Sequence[int], L: int, noise: NoiseModel) -> FactorPrior:
    if isinstance(given, str):
        check_choice("factor_prior", given, ("learned", "short"))
        if given == "learned":
            return LearnedPrior()
        if noise.parameters.pair is None:
            raise InputError(
                "factor_prior='short' is for comparisons that count once; use 'learned', or read the "
                "cells with relational=True and choose noise='comparisons'."
            )
        return ShortSides.for_cells(shape)
    if isinstance(given, Sequence) or as_array("factor_prior", given).ndim:
        return FixedPrior.from_probabilities(check_tables("factor_prior", given, shape, L, check_probability))
    return FixedPrior.from_probabilities([check_probability("factor_prior", given)] * len(shape))


def _start_at(given: Any, model: NoiseModel) -> Any:
    """Return the noise that chains start with, or None if the model says so."""
    if given is None:
        return None
    value, least = check_amount("lambda_start", given), CONTRAST / 2
    if not least <= value <= LARGEST_LAMBDA:
        raise InputError(
            f"lambda_start is {short(given)}; give a number from {least} to {LARGEST_LAMBDA:g}, or None."
        )
    return model.start_at(value)


def check_observed(tensor: Tensor) -> None:
    """Raise if every cell of a tensor is missing."""
    if tensor.n_observed == 0:
        raise InputError("X has no observed cell; give at least one that is not missing.")


def _seed(random_state: Any) -> np.uint64:
    """Return the key of all random numbers of a fit."""
    if isinstance(random_state, (np.random.RandomState, np.random.Generator)):
        random_state = int(random_state.bytes(8).hex(), 16)
    elif random_state is not None:
        random_state = check_count("random_state", random_state, 0, ", or None")
    return np.uint64(np.random.SeedSequence(random_state).generate_state(1, np.uint64)[0])
