"""What a fitted model says about its components: describe, plot, report, save and export."""

from __future__ import annotations

import inspect
import os
import warnings
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils import estimator_html_repr

from tensorm.data.checks import check_choice, check_flag, is_list, short
from tensorm.errors import InputError
from tensorm.estimator.predictor import Predictor
from tensorm.posterior.align import MEMBER
from tensorm.posterior.contributions import Contributions
from tensorm.posterior.datatree import to_datatree
from tensorm.posterior.diagnostics import Diagnostics, diagnose
from tensorm.posterior.modes import GroupsByMode
from tensorm.report.card import render_card
from tensorm.report.describe import Sentences, describe
from tensorm.report.export import (
    list_activities,
    list_members,
    list_strengths,
    to_anndata,
    to_networkx,
    to_tensorly,
    write_gmt,
)
from tensorm.report.page import write_page
from tensorm.report.plots import PLOTS
from tensorm.storage.fit import Fit, write_fit

if TYPE_CHECKING:
    import pandas as pd
    import xarray

# What plots need, in words.
WANTED = {"component": "NUMBER", "mode": "NAME", "metadata": "{MODE: TABLE}", "X": "DATA"}


class FittedModel(Predictor):
    """Methods that show, explain and keep a fit."""

    def _repr_html_(self) -> str:
        """Show a fit as a card in a notebook; before, the settings as scikit-learn does."""
        return render_card(self.posterior_) if hasattr(self, "posterior_") else str(estimator_html_repr(self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def contributions_(self) -> Contributions:
        """What each component contributes, strongest first; has a table."""
        return Contributions(self._fitted.contributions)

    @property
    def strengths_(self) -> pd.DataFrame:
        """How strong each component is: the probability that it makes a cell 1 (``noise="strengths"``)."""
        return list_strengths(self._fitted)

    @property
    def activity_(self) -> pd.DataFrame:
        """How active each index is without any component (``background="activity"``)."""
        return list_activities(self._fitted)

    @property
    def noise_choice_(self) -> str | None:
        """Which noise model ``noise="auto"`` chose, and why; None if nothing was chosen."""
        return self._fitted.noise_choice

    @property
    def diagnostics_(self) -> Diagnostics:
        """How the chains compare and how well they have mixed, with a conclusion; computed once."""
        return diagnose(self._fitted)

    def summary(self) -> None:
        """Print how the chains compare, how well they have mixed, and what to conclude."""
        print("\n".join(filter(None, [str(self.diagnostics_), self.noise_choice_])))

    def describe(
        self, groups: GroupsByMode | None = None, most: int | None = None, explanation: int = 0
    ) -> Sentences:
        """Describe what was found in sentences.

        Parameters
        ----------
        groups : mapping, optional
            For some modes, by name or number, an array with the group of each index (such as a person's
            role): members are then counted by group instead of named.
        most : int, optional
            Describe at most this many components: the strongest of those that more than half of the chains
            found.
        explanation : int, default 0
            Which explanation to describe, if chains found several; 0 has the most weight. ``summary()`` lists
            which chain found which.

        Returns
        -------
        list of str
            One text per component, strongest first; then one each about components that are not described or
            are empty; some about how chains differ; and one about the noise and, with ``noise="auto"``, why
            it was chosen. Prints as one text.
        """
        return describe(self._fitted.put_first(explanation), groups, most)

    def members(self, threshold: float = MEMBER) -> pd.DataFrame:
        """Return a table with a row for each member of each component in each mode.

        Parameters
        ----------
        threshold : float, default 0.5
            Members have a probability above this.

        Returns
        -------
        pandas.DataFrame
            Columns mode, label (a number for modes without labels), component, probability, and sure: whether
            the probability is above 0.9. Sorted by component and mode; then those that contribute most come
            first.
        """
        return list_members(self._fitted, threshold)

    def plot(self, kind: str = "factors", **options: Any) -> Any:
        """Draw the fit with matplotlib.

        Parameters
        ----------
        kind : str, default "factors"
            "factors": the memberships of all modes; "factor": of one mode; "component": the members of one
            component; "members": the same in one mode; "contributions": what each component explains;
            "slice": predicted or observed cells; "reconstruction": both; "calibration": shares of ones by
            predicted probability; "associations": components and
            metadata; "strengths" and "activity": how strong components are, and how active each index is
            without any, with ``noise="strengths"``.
        **options
            Passed to the function of ``tensorm.report.plots`` with that name, such as ``groups``.

        Returns
        -------
        matplotlib Axes or Figure
        """
        draw = PLOTS[check_choice("kind", kind, tuple(PLOTS))]
        _check_options(kind, draw, options)
        if "X" in options:
            options["X"] = self._read(options["X"])
        return draw(self._fitted, **options)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        metadata: Mapping[Any, Any] | None = None,
        selection: Any = None,
        title: str | None = None,
        command: str | None = None,
        notes: Sequence[str] = (),
        open: bool = False,
    ) -> None:
        """Write the fit as a single HTML page, to open in a browser, mail or print; it loads nothing else.

        The page is interactive. It shows what was found in a sentence, data beside the reconstruction, an
        index of the components, their members by what they contribute, all about a label, doubtful
        memberships, surprising cells, a network of paired modes, whether the chains agree, and how to repeat
        the fit. Tables can be saved as CSV, pictures as SVG and PNG.

        Parameters
        ----------
        path : path
            The file to write; an older one is replaced in a single step.
        X : array-like or tensor, optional
            The data of the fit, which the model does not keep, read with the options given to ``fit``;
            without them the page shows predictions only.
        metadata : mapping, optional
            For some modes, by name or number, a table with a row for each label, such as the role of a
            person, or an array with a value for each index. Labels can be ordered and filtered by it, and
            components are tested for associations with it. Modes with the same labels share theirs.
        selection : Selection, optional
            How the number of components was chosen; by default the model's ``selection_``, if any.
        title : str, optional
            The heading; by default the names of the modes.
        command : str, optional
            The shell commands that made the fit, shown instead of the Python code.
        notes : sequence of str, optional
            Sentences about the data to show, such as what was left out. Warnings while X is read are added.
        open : bool, default False
            Whether to open the page in the default browser.

        Raises
        ------
        InputError
            If X has another shape, or a table has unknown labels.
        FileError
            If the file cannot be written.
        """
        parameters = inspect.signature(type(self)).parameters
        if not is_list(notes):
            raise InputError(f"notes is {short(notes)}; give a list of sentences.")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            cells = self._read(X)
        write_page(
            self._fitted,
            path,
            X=cells,
            notes=[*notes, *(str(warning.message) for warning in told)],
            metadata=metadata,
            selection=getattr(self, "selection_", None) if selection is None else selection,
            title=title,
            command=command,
            tied=self._target.tied,
            settings={name: getattr(self, name) for name in parameters},
            defaults={name: parameter.default for name, parameter in parameters.items()},
        )
        if check_flag("open", open):
            webbrowser.open(Path(path).resolve().as_uri())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit to a file, for ``tensorm.load``.

        The file contains the settings, labels, seed and all draws, but not the data. It replaces an older one
        in a single step: if anything goes wrong, one of the two is intact. A random generator given as
        ``random_state`` is not saved, only the seed drawn from it.

        Parameters
        ----------
        path : path
            By convention it ends in .tensorm; for netCDF see ``to_datatree``.

        Raises
        ------
        FileError
            If the file cannot be written, or its name ends like one of data, such as .csv or .nc.
        """
        posterior = self._fitted  # first, so that a model without a fit says so
        write_fit(path, Fit(self.get_params(deep=False), self._target, posterior))

    def to_datatree(
        self, X: Any = None, *, log_likelihood: bool = False, all_chains: bool = True
    ) -> xarray.DataTree:
        """Return the draws as a tree of groups for ArviZ, for example for ``arviz_plots.plot_trace``.

        ``posterior`` has ``factor_<mode>`` for each mode (chain, draw, the mode, component), ``hit``,
        ``false_alarm`` and, if learned, ``density``; ``sample_stats`` has ``lp``, ``log_likelihood`` and
        ``accuracy``; ``constant_data`` has the settings and facts about the chains, such as the ``weight`` of
        each in predictions and the number of its ``explanation``. A mode whose name is
        taken, such as "draw" or "cell", gets its number appended. Chains are cut to the length of the
        shortest.

        Parameters
        ----------
        X : array-like or tensor, optional
            The data of the fit, which the model does not keep: they become ``observed_data``.
        log_likelihood : bool, default False
            Whether to add a group with the log-likelihood of each observed cell of X in each draw, as
            ``arviz_stats.loo`` needs it: 8 bytes per cell and draw.
        all_chains : bool, default True
            Whether to include chains that found other explanations than the one with the most weight.

        Returns
        -------
        xarray.DataTree
        """
        tensor = None if X is None else self._fitted.check_tensor(self._read(X))
        settings = self.get_params(deep=False)
        return to_datatree(self._fitted, settings, tensor, log_likelihood, all_chains)

    def to_networkx(self, threshold: float = MEMBER) -> Any:
        """Return who is in which component as a networkx graph.

        Nodes are (mode, label) and ("component", number), with the attributes ``kind`` and ``bipartite``.
        An edge joins a member and its component; ``weight`` is the probability.

        Parameters
        ----------
        threshold : float, default 0.5
            Members are in the component with more than this probability.
        """
        return to_networkx(self._fitted, threshold)

    def to_anndata(self, adata: Any = None) -> Any:
        """Return the memberships as an AnnData object, for scanpy and its relatives.

        ``obsm["X_tensorm"]`` has the memberships of mode 0 and ``varm["tensorm"]`` those of mode 1;
        ``uns["tensorm"]`` has the noise and the factors of other modes.

        Parameters
        ----------
        adata : AnnData, optional
            The data of the fit: it gets the memberships and is returned. By default a new object.
        """
        return to_anndata(self._fitted, adata)

    def to_tensorly(self, *, rounded: bool = False) -> Any:
        """Return the factors as a tensorly ``CPTensor`` with weights of 1.

        tensorly adds components, whereas a Boolean product takes their union, so a cell in two of them is 2
        in ``tensorly.cp_to_tensor``.

        Parameters
        ----------
        rounded : bool, default False
            Whether to round probabilities to 0 and 1.
        """
        return to_tensorly(self._fitted, rounded)

    def write_gmt(self, path: str | os.PathLike[str], mode: str | int, threshold: float = MEMBER) -> None:
        """Write the members of each component in one mode as gene sets, in a GMT file.

        Each line has a name, a description and the members, separated by tabs. Components without members
        are left out.

        Parameters
        ----------
        path : path
            An older file is replaced.
        mode : str or int
            Name or number of the mode.
        threshold : float, default 0.5
            Members have a probability above this.
        """
        write_gmt(self._fitted, path, mode, threshold)


def _check_options(kind: str, draw: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raise if a plot does not know an option, or lacks one that it needs."""
    _, *known = inspect.signature(draw).parameters.values()  # the first is the posterior
    for name in options:
        check_choice(f"An option of plot({kind!r})", name, [one.name for one in known])
    lacking = [one.name for one in known if one.default is one.empty and one.name not in options]
    if lacking:
        wanted = " and ".join(f"{name}={WANTED.get(name, 'VALUE')}" for name in lacking)
        raise InputError(f"plot({kind!r}) needs {wanted}.")
