"""Notices the user's professional goals, and keeps them in long-term memory."""

import json

from agents.conversation.gate.features import ending
from agents.conversation.scene import Scene
from agents.language.text.vocabulary import mentions
from agents.state.verdict import STAY, Verdict
from dialogs.profile.store import INTENT
from observers import Observer


def when(scene: Scene) -> bool:
    """Ask only if the message has a word about looking for work."""
    return mentions("intent", scene.text, scene.lang, file="profile/phrases") is not None


async def post_check(scene: Scene) -> Verdict:
    """Ask the model for the intent in the user's own words, and remember it."""
    try:
        answer = json.loads(await scene.ask(reply=ending(scene.reply or "-")))
    except json.JSONDecodeError:
        return STAY
    intent = answer.get("intent") if isinstance(answer, dict) else None
    if isinstance(intent, str) and intent.strip():
        await scene.remember("facts", INTENT, {"text": intent.strip()[:500]})
    return STAY


observer = Observer(post_check=post_check, when=when)
