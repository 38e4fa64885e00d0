"""Sees whether the user wants another specialist or a tool of the supervisor, instead of the dialog or after it."""

from agents.conversation.gate.features import ending
from agents.conversation.scene import Scene
from agents.state.verdict import STAY, Verdict
from observers import Observer


async def pre_check(scene: Scene) -> Verdict:
    """Ask the model where the user's message belongs; on any other answer the dialog stays."""
    # In the same order for every dialog: a server keeps the beginning that prompts share.
    dialogs = sorted({**scene.helpers, scene.dialog: scene.description}.items())
    called = {name: scene.entries.get(name, name) for name, _ in dialogs}
    others = dict.fromkeys([*(called[name] for name in scene.helpers), *scene.helpers, *scene.tools])
    word = await scene.ask(
        words=["stay", *others, *(f"stay + {name}" for name in others), "other"],
        dialog=called[scene.dialog],
        helpers="\n".join(f"- {called[name]}: {text}" for name, text in dialogs),
        tools="\n".join(f"- {name}: {text.splitlines()[0]}" for name, text in scene.tools.items()) or "-",
        reply=ending(scene.reply or "-"),
    )
    stays, _, name = word.rpartition(" + ")
    name = next((dialog for dialog, tool in called.items() if tool == name), name)
    if stays:
        return Verdict(also=name, reason="the rest of the message belongs to another")
    if name in scene.tools:
        return Verdict("supervisor", name, "the message asks for a tool of the supervisor")
    if name in scene.helpers:
        return Verdict("switch", name, "the message belongs to another specialist")
    return Verdict("supervisor", None, "the message leaves the dialog") if name == "other" else STAY


observer = Observer(pre_check=pre_check)
