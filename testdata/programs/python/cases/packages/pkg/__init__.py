"""A package."""
order = []
from . import a, b
from .sub import deep as _deep
