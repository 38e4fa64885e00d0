"""Observers that call for a person: the call is stored before their vote counts, so that no kill loses it."""

from collections.abc import Mapping
from dataclasses import replace

from langgraph.runtime import get_runtime

from agents.conversation.scene import Check, Observer, Scene
from agents.state.verdict import Verdict
from agents.toolkit.context import Context
from app.seat.seats import Seats


def calling(observers: Mapping[str, Observer]) -> dict[str, Observer]:
    """Return the observers with checks that carry out their verdict `person`, where people can be called."""

    def carried_out(check: Check | None) -> Check | None:
        async def checked(scene: Scene) -> Verdict:
            verdict = await check(scene) if check else Verdict()
            context = get_runtime(Context).context
            seats = context.services.find(Seats) if verdict.kind == "person" else None
            if seats and seats.wait and await seats.of(context.thread) is None:
                await seats.call(context.thread, context.user, scene.lang, "observer", verdict.reason)
            return verdict

        return check and checked

    return {
        name: replace(observer, pre_check=carried_out(observer.pre_check), post_check=carried_out(observer.post_check))
        for name, observer in observers.items()
    }
