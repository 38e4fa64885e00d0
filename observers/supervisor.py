"""Sees whether the user wants another helper, a tool of the supervisor, or nobody in particular."""

from agents.conversation.gate.features import ending
from agents.conversation.scene import Scene
from agents.state.verdict import STAY, Verdict
from observers import Observer


async def pre_check(scene: Scene) -> Verdict:
    """Ask the model where the user's message belongs; on any other answer the dialog stays."""
    # In the same order for every dialog: a server keeps the beginning that prompts share.
    dialogs = sorted({**scene.helpers, scene.dialog: scene.description}.items())
    word = await scene.ask(
        words=["stay", *scene.helpers, *scene.tools, "own"],
        dialog=scene.dialog,
        helpers="\n".join(f"- {name}: {text}" for name, text in dialogs),
        tools="\n".join(f"- {name}: {text.splitlines()[0]}" for name, text in scene.tools.items()) or "-",
        reply=ending(scene.reply or "-"),
    )
    if word in scene.helpers:
        return Verdict("switch", word, "the message belongs to another helper")
    if word in scene.tools:
        return Verdict("supervisor", word, "the message asks for a tool of the supervisor")
    return Verdict("supervisor", None, "the message leaves the dialog") if word == "own" else STAY


observer = Observer(pre_check=pre_check)
