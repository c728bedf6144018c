"""The one exception users meet by their own doing: an argument that cannot be used as it is."""


class InputError(ValueError):
    """An argument is wrong; the message names it, shows its value and says what to give instead."""
