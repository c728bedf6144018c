"""Data to try things on: random tensors as in the paper, and an invented hospital ward."""

from tensorm.datasets.simulate import Simulation, simulate
from tensorm.datasets.ward import WardTruth, ward, ward_truth

__all__ = ["Simulation", "WardTruth", "simulate", "ward", "ward_truth"]
