"""Votes "finished" when a dialog has reached its goal, or the user is done with it."""

from agents.conversation.gate.features import asks, ending
from agents.conversation.scene import Scene
from agents.language.text.vocabulary import takes_leave
from agents.state.verdict import STAY, Verdict, because
from observers import Observer


def when(scene: Scene) -> bool:
    """Ask only if the user says goodbye, or the form is complete and the dialog asks nothing more."""
    complete = bool(scene.form) and not scene.missing and scene.reply is not None and not asks(scene.reply)
    return complete or bool(takes_leave(scene.text, scene.lang))


async def check(scene: Scene) -> Verdict:
    """Ask the model whether this dialog is over."""
    values = ", ".join(f"{name}: {value}" for name, value in scene.form.items()) or "-"
    reply = ending(scene.reply or "-")
    answer = await scene.ask(words=["yes", "no"], description=scene.description, reply=reply, known=values)
    return Verdict("finished", reason=because("goal")) if answer == "yes" else STAY


observer = Observer(pre_check=check, post_check=check, when=when)
