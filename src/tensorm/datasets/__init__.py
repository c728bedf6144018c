"""Example data: simulated and public.

simulate.py plants components, ward.py is the example of the documentation; a new set is a function here.
"""

from tensorm.datasets.cancer import cancer, kegg
from tensorm.datasets.public import hospital, nations, students
from tensorm.datasets.simulate import Simulation, simulate
from tensorm.datasets.ward import WardTruth, ward, ward_truth

__all__ = [
    "Simulation",
    "WardTruth",
    "cancer",
    "hospital",
    "kegg",
    "nations",
    "simulate",
    "students",
    "ward",
    "ward_truth",
]
