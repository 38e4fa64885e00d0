"""Votes for another specialist or a tool of the supervisor, if the user wants it instead of the dialog or after it."""

from agents.conversation.gate.features import ending
from agents.conversation.scene import Scene
from agents.state.verdict import STAY, Verdict, because
from observers import Observer


async def pre_check(scene: Scene) -> Verdict:
    """Ask the model for the right dialog or tool for the user's message; on any other answer the dialog stays."""
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
        return Verdict(also=name, reason=because("rest"))
    if name in scene.tools:
        return Verdict("supervisor", name, because("supervisor_tool"))
    if name in scene.helpers:
        return Verdict("switch", name, because("other_dialog"))
    return Verdict("supervisor", None, because("leaves")) if name == "other" else STAY


observer = Observer(pre_check=pre_check)
