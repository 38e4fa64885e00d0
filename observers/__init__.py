"""Observers: they watch a dialog and may end its hold on the conversation. One file defines one `observer`.

The file name is the observer's name; its prompt is `prompts/<lang>/observers/<name>.md`. The folder of a dialog or a
plug-in may have `observers/` of its own, with prompts in `prompts/<lang>/<its name>/observers`. Of several votes the
first that is not "stay" counts.
"""

from collections.abc import Mapping
from dataclasses import replace

import prompts
from agents.conversation.scene import Observer
from agents.discovery import ROOT, load_each
from agents.toolkit.speaker import Speaker, Speakers
from prompts import observer_parts

__all__ = ["Observer", "discover", "watched"]


def discover(languages: list[str]) -> dict[str, Observer]:
    """Load every observer by file name: of this folder, and of the folders of dialogs and plug-ins.

    Raises:
        ContractError: a file defines no `observer = Observer(...)`.
        PromptError: an observer has no prompt, or a variable in its role.
    """
    observers = load_each(__name__, __path__, Observer)
    roots = [(ROOT, "dialogs"), (ROOT / "app", "app.plugins")]
    roots += [(root, package) for root in prompts.EXTENSIONS for package in ("dialogs", "app.plugins")]
    for root, package in roots:
        for folder in sorted(root.glob(f"{package.rpartition('.')[2]}/*/observers")):
            if (owner := folder.parent.name) not in prompts.OFF:
                observers |= load_each(f"{package}.{owner}.observers", [str(folder)], Observer)
    for name in observers:
        for lang in languages:
            observer_parts(name, lang)
    return dict(sorted(observers.items()))


def watched(speakers: Speakers, observers: Mapping[str, Observer]) -> Speakers:
    """Return the speakers with the observers that are always on, behind the speaker's own ones."""
    of_dialogs = [name for name, observer in observers.items() if observer.always]
    of_all = [name for name in of_dialogs if observers[name].always == "everywhere"]

    def joined(speaker: Speaker) -> Speaker:
        names = (*speaker.observers, *(of_all if speaker.is_supervisor else of_dialogs))
        return replace(speaker, observers=tuple(dict.fromkeys(names)))

    return speakers.each(joined)
