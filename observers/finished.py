"""Sees when a dialog has reached its goal, or the user is done with it."""

from agents.conversation.gate import asks
from agents.conversation.scene import Scene
from agents.language.text.vocabulary import takes_leave
from agents.state.verdict import STAY, Verdict
from observers import Observer


def when(scene: Scene) -> bool:
    """Ask only if the user takes leave, or the form is complete and the dialog asks nothing more."""
    complete = bool(scene.form) and not scene.missing and scene.reply is not None and not asks(scene.reply)
    return complete or takes_leave(scene.text, scene.lang)


async def check(scene: Scene) -> Verdict:
    """Ask the model whether this dialog is over."""
    values = ", ".join(f"{name}: {value}" for name, value in scene.form.items()) or "-"
    answer = await scene.ask(description=scene.description, reply=scene.reply or "-", known=values)
    over = answer.strip().strip("`\"'.").casefold() == "yes"
    return Verdict("finished", reason="the dialog has reached its goal") if over else STAY


observer = Observer(pre_check=check, post_check=check, when=when)
