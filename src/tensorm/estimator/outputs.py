"""What a fitted estimator hands out: a file of its own, and the forms of other tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from tensorm.errors import InputError
from tensorm.posterior.datatree import to_datatree
from tensorm.posterior.draws import Posterior
from tensorm.posterior.export import to_dataframe, to_tensorly
from tensorm.report.gmt import write_gmt
from tensorm.sampler.sweep import Target
from tensorm.storage import Fit, write_fit
from tensorm.tensors import as_tensor

if TYPE_CHECKING:
    import pandas as pd
    import xarray


class Outputs:
    """Methods of an estimator with ``posterior_``, ``_target`` and parameters."""

    posterior_: Posterior
    _target: Target

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters, as scikit-learn estimators do."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit to a file, for ``tensorm.load``.

        The file holds the settings, labels, seed and all draws, but not the data. It takes the place of an
        older one in a single step: whatever goes wrong, one of the two is there and whole. A random generator
        given as ``random_state`` is not kept, only the seed that was drawn from it.

        Parameters
        ----------
        path : path
            By convention it ends in .tensorm.

        Raises
        ------
        FileError
            When the file cannot be written.
        """
        check_is_fitted(self)
        write_fit(path, Fit(self.get_params(deep=False), self._target, self.posterior_))

    def to_datatree(
        self, X: Any = None, *, log_likelihood: bool = False, all_chains: bool = False
    ) -> xarray.DataTree:
        """Return the draws as a tree of groups for ArviZ.

        ``posterior`` has ``factor_<mode>`` for each mode (chain, draw, the mode, component), ``hit``,
        ``false_alarm`` and, where it is learned, ``density``; ``sample_stats`` has ``lp``, ``log_likelihood``
        and ``accuracy``; ``constant_data`` has the settings and facts about the chains. A mode whose
        name is taken, such as "draw" or "cell", gets its number added. Chains are cut to the length of the
        shortest.

        Parameters
        ----------
        X : array-like or tensor, optional
            The data of the fit, which it does not keep: they become ``observed_data``.
        log_likelihood : bool, default False
            Whether to add a group with the log-likelihood of each observed cell of X in each draw, as
            ``arviz_stats.loo`` needs it: 8 bytes for each cell and draw.
        all_chains : bool, default False
            Whether to take also the chains that ended in a worse explanation of the data.

        Returns
        -------
        xarray.DataTree
        """
        check_is_fitted(self)
        tensor = None if X is None else as_tensor(X)
        shape = self.posterior_.shape
        if tensor is not None and tensor.shape != shape:
            raise InputError(f"X has shape {tensor.shape}; give {shape}, as in fit.")
        settings = self.get_params(deep=False)
        return to_datatree(self.posterior_, settings, tensor, log_likelihood, all_chains)

    def to_dataframe(self, threshold: float = 0.5) -> pd.DataFrame:
        """Return a table with a row for each member of each component in each mode.

        Parameters
        ----------
        threshold : float, default 0.5
            Members are in the component with more than this probability.

        Returns
        -------
        pandas.DataFrame
            Columns mode, label (a number where there are none), component, probability, and sure: whether
            the probability is above 0.9. Sorted by component, mode and probability.
        """
        check_is_fitted(self)
        return to_dataframe(self.posterior_, threshold)

    def to_tensorly(self, *, rounded: bool = False) -> Any:
        """Return the factors as a tensorly ``CPTensor`` with weights of 1.

        tensorly adds components up where a Boolean product takes their union, so a cell that is in two of
        them is 2 in ``tensorly.cp_to_tensor``.

        Parameters
        ----------
        rounded : bool, default False
            Whether entries are 0 and 1, whichever is more probable, instead of probabilities.
        """
        check_is_fitted(self)
        return to_tensorly(self.posterior_, rounded)

    def write_gmt(self, path: str | os.PathLike[str], mode: str | int, threshold: float = 0.5) -> None:
        """Write the members of each component in one mode as gene sets, in a GMT file.

        A line has a name, a description and the members, with tabs between them. Components without a member
        are left out.

        Parameters
        ----------
        path : path
            An older file is replaced.
        mode : str or int
            Name or number of the mode.
        threshold : float, default 0.5
            Members are in the component with more than this probability.
        """
        check_is_fitted(self)
        write_gmt(self.posterior_, path, mode, threshold)
