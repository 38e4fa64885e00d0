"""Observers: they watch a dialog and may end its hold on the conversation. One file defines one `observer`.

The file name is the observer's name; its prompt is `prompts/<lang>/observers/<name>.md`. Of several votes the
first that is not "stay" counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agents.conversation.scene import Check, Scene
from agents.discovery import load_each
from agents.errors import ContractError
from prompts import variables


@dataclass(frozen=True, kw_only=True)
class Observer:
    """Checks before a dialog answers (`pre_check`) and after (`post_check`); either may be left out.

    A pre-check runs beside the dialog's own draft and holds it back until it has voted; a post-check runs
    while the user already reads the answer.
    """

    pre_check: Check | None = None
    post_check: Check | None = None
    when: Callable[[Scene], bool] | None = None
    """A cheap local test. The observer is asked where it holds, whatever the gate says, and nowhere else. Without it
    the observer is asked before an answer if the gate lets the message through, and after every answer."""

    def __post_init__(self) -> None:
        if self.pre_check is None and self.post_check is None:
            raise ContractError("an Observer needs a pre_check or a post_check")


def discover(languages: list[str]) -> dict[str, Observer]:
    """Load every observer of this folder by file name.

    Raises:
        ContractError: a file defines no `observer = Observer(...)`.
        PromptError: an observer has no prompt.
    """
    observers = load_each(__name__, __path__, Observer)
    for name in observers:
        for lang in languages:
            variables(f"observers/{name}", lang)
    return observers
