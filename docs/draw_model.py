"""Draw the model: binary factors, the blocks they make, their union, and the noisy tensor that is observed.

python docs/draw_model.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LightSource

FIGURE = Path(__file__).parent / "figures" / "model.png"
COLOURS = np.array(["#0f8b8d", "#e07a1f"])
BOTH, STRAY = "#8a6d3b", "#9a9a9a"
FACTORS = [
    np.array([[1, 0], [1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]),
    np.array([[0, 1], [0, 1], [1, 1], [1, 1], [1, 0], [1, 0]]),
    np.array([[0, 1], [0, 1], [0, 1], [1, 1], [1, 0], [1, 0]]),
]
LIGHT = LightSource(azdeg=250, altdeg=50)
RATES = (0.85, 0.08)  # of ones, inside and outside


def draw() -> plt.Figure:
    """Return the picture."""
    figure = plt.figure(figsize=(11, 3.2))
    for k, factor in enumerate(FACTORS):
        _draw_factor(figure.add_axes((0.01 + 0.07 * k, 0.2, 0.06, 0.56)), factor, k)
    blocks = [np.einsum("i,j,k->ijk", *(factor[:, l] for factor in FACTORS)) == 1 for l in range(2)]
    for l, block in enumerate(blocks):
        axes = figure.add_axes((0.262 + 0.128 * l, 0.08, 0.128, 0.82), projection="3d")
        _draw_cells(axes, block, np.full(block.shape, COLOURS[l]))
    product = blocks[0] | blocks[1]
    colours = np.where(blocks[0] & blocks[1], BOTH, np.where(blocks[0], COLOURS[0], COLOURS[1]))
    _draw_cells(figure.add_axes((0.545, -0.02, 0.22, 0.98), projection="3d"), product, colours)
    chance = np.random.default_rng(4).random(product.shape)
    observed = chance < np.where(product, *RATES)
    axes = figure.add_axes((0.785, -0.02, 0.22, 0.98), projection="3d")
    _draw_cells(axes, observed, np.where(product, colours, STRAY))
    for x, mark in ((0.24, "AND"), (0.53, "OR"), (0.775, "noise")):
        figure.text(x, 0.48, f"{mark}\n\N{RIGHTWARDS ARROW}", ha="center", va="center", fontsize=13)
    for x, words in (
        (0.11, "a binary factor for each mode"),
        (0.39, "a block for each component"),
        (0.655, "the Boolean product"),
        (0.893, "the cells that are observed"),
    ):
        figure.text(x, 0.95, words, ha="center", va="top", fontsize=11)
    return figure


def _draw_factor(axes: plt.Axes, factor: np.ndarray, k: int) -> None:
    rgb = np.ones((*factor.shape, 3))
    for l in range(factor.shape[1]):
        rgb[factor[:, l] == 1, l] = matplotlib.colors.to_rgb(COLOURS[l])
    axes.imshow(rgb, aspect="auto")
    axes.set(xticks=[], yticks=[])
    axes.set_xticks(np.arange(0.5, factor.shape[1] - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(factor) - 1), minor=True)
    axes.grid(which="minor", color="#bbbbbb", linewidth=0.6)
    axes.tick_params(which="both", length=0)
    axes.set_xlabel(f"$F_{k + 1}$", fontsize=12)


def _draw_cells(axes: plt.Axes, filled: np.ndarray, colours: np.ndarray) -> None:
    axes.voxels(filled, facecolors=colours, edgecolor="#33333366", linewidth=0.4, lightsource=LIGHT)
    size = filled.shape[0]
    for start in ((0, 0, 0), (size, size, 0), (size, 0, size), (0, size, size)):
        for k in range(3):
            end = list(start)
            end[k] = size - start[k]
            axes.plot(*zip(start, end, strict=True), color="#bbbbbb", linewidth=0.7)
    axes.set_axis_off()
    axes.set_box_aspect((1, 1, 1), zoom=0.98)
    axes.view_init(elev=22, azim=-52)


if __name__ == "__main__":
    draw().savefig(FIGURE, dpi=140)
