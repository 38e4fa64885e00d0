"""The exit codes of commands, and the faults that their caller can mend."""

from agents.errors import ConfigError, ContractError, UsageError
from prompts import PromptError

FAILED = 1
USAGE = 2
"""The exit code of a wrong call of a command, or of a check that found faults."""
WAITING = 10
"""The exit code of a turn that ends with a question to the user."""
INTERRUPTED = 130
TERMINATED = 143
STORAGE = "storage"
"""The code of the error that ends a turn whose database fails."""
TROUBLE = {STORAGE: 74, "busy": 75, "spent": 75, "key_refused": 76, "unavailable": 77}
"""The exit code for the code of an `error` event; any other is a failure."""
FAULTS = (ConfigError, ContractError, PromptError, UsageError)
"""The faults that the caller can mend; the message of each is one line."""


def told(fault: Exception, lang: str) -> str:
    """Return the message of a fault, in a language if the fault knows it."""
    return fault.told(lang) if isinstance(fault, UsageError) else str(fault)
