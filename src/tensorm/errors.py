"""The exceptions users meet: an argument or a file that cannot be used as it is, a cluster that is gone."""


class InputError(ValueError):
    """An argument is wrong; the message names it, shows its value and says what to give instead."""


class FileError(InputError):
    """A file cannot be read or written; the message names it and says what is wrong with it."""


class ClusterError(RuntimeError):
    """A cluster does not answer; the message says which and how to continue."""
