"""The lessons of a session of the desk: its messages as examples on the cards of the tools that the person chose.

From the cards, the ranker learns the requests for each tool, and the gate learns the words of each dialog.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agents.conversation.gate import LOW, Gate
from agents.conversation.scene import Scene
from agents.language.identifiers import spelled
from agents.language.tool_ranker.ranker import Card
from agents.toolkit.handover_tools import HAND_BACK
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import CALL
from app.plugins.lab.cards import CardQuery, cards_of, finder
from app.plugins.lab.desk import Desk
from app.plugins.lab.desk_export import PLAIN
from app.plugins.lab.desk_session import DeskCall, DeskTurn
from app.presentation.tool_card import LONGEST_EXAMPLE, owned_tools, slots


@dataclass(frozen=True)
class Lesson:
    """A message of a session, with the tool that the person chose for it."""

    lang: str
    text: str
    tool: str = ""
    """The tool that the person chose first; empty: none with a card."""
    example: str = ""
    """The message as an example on the tool's card; empty: it cannot be one."""
    scene: Scene | None = None
    """The scene at the gate's decision; None where no dialog held the conversation."""
    leaves: bool = False
    """Whether the dialog handed the conversation back."""


def lessons_of(desk: Desk) -> list[Lesson]:
    """Return the lessons of an open session, one for each message that answers no question of a tool."""
    speakers, lang = desk.assistant.speakers, desk.session.lang
    owned = owned_tools(speakers)
    entries = {dialog.tool for dialog in speakers.dialogs.values()}
    lessons, was_asked = [], False
    for turn, scene in zip(desk.session.turns, desk.scenes, strict=True):
        calls = [*_calls(turn)]
        carded = [call for call in calls if call.tool in owned and call.tool != HAND_BACK]
        # The tool of a dialog tells more than the handoff to the dialog.
        chosen = sorted(carded, key=lambda call: call.tool in entries)[:1]
        if not was_asked and turn.is_over:
            lesson = Lesson(lang, turn.user, scene=scene, leaves=any(call.tool == HAND_BACK for call in calls))
            for call in chosen:
                example = _example(turn.user, call, slots(owned[call.tool]))
                lesson = replace(lesson, tool=call.tool, example=example)
            lessons.append(lesson)
        was_asked = bool(turn.question)
    return lessons


def _calls(turn: DeskTurn) -> Iterator[DeskCall]:
    """Yield the calls of a turn; a call through `call_tool` is that of its tool."""
    for call in (call for reply in turn.replies for call in reply.calls):
        args = call.args.get("args")
        is_wrapped = call.tool == CALL and isinstance(args, Mapping)
        yield DeskCall(tool=str(call.args.get("name")), args=args or {}) if is_wrapped else call


def _example(text: str, call: DeskCall, parameters: Sequence[str]) -> str:
    """Return a message with slots for the arguments that the user wrote; empty if an identifier would be left."""
    example = " ".join(text.split())
    for name, value in call.args.items():
        if name in parameters and isinstance(value, str) and value in spelled([example]):
            example = example.replace(value, f"{{{name}}}")
    has_number = any(char.isdigit() for word in spelled([example]) for char in word)
    is_plain = not has_number and not PLAIN.search(example) and len(example) <= LONGEST_EXAMPLE
    return example if is_plain else ""


def figures(
    speakers: Speakers, lessons: Sequence[Lesson], others: Sequence[CardQuery], gate: Gate
) -> list[dict[str, str | int]]:
    """Return the share of right judgements with the present cards, and with the examples.

    The messages fall into two halves. Each half is judged with the examples of the other half alone.
    """
    cards = cards_of(speakers)
    before, after = finder(cards), finder(taught(cards, lessons))
    own, stays, leaves = (list[tuple[bool, bool]]() for _ in range(3))
    halves = lessons[::2], lessons[1::2]
    for half, teaching in (halves, halves[::-1]):
        learnt, phrases = finder(taught(cards, teaching)), _phrases(speakers, teaching)
        for lesson in half:
            if lesson.tool:
                own.append((before(lesson.text) == lesson.tool, learnt(lesson.text) == lesson.tool))
            if scene := lesson.scene:
                examples = {name: (*texts, *phrases.get(name, ())) for name, texts in scene.examples.items()}
                old, new = (gate(judged).leaves >= LOW for judged in (scene, replace(scene, examples=examples)))
                (leaves if lesson.leaves else stays).append((old == lesson.leaves, new == lesson.leaves))
    texts = {lesson.text for lesson in lessons}
    rest = [query for query in others if query.text not in texts]
    judgements = {
        "messages of the sessions that find their tool first": own,
        "other requests that find their tool first": [
            (before(query.text) == query.tool, after(query.text) == query.tool) for query in rest
        ],
        "messages that stay, and spare the observers": stays,
        "messages that leave, and are noticed": leaves,
    }
    rows: list[dict[str, str | int]] = []
    for about, pairs in judgements.items():
        before_after = [sum(right) for right in zip(*pairs, strict=True)] or [0, 0]
        rows.append({"about": about, "before": before_after[0], "after": before_after[1], "judged": len(pairs)})
    return rows


def new_examples(cards: Sequence[Card], lessons: Sequence[Lesson]) -> dict[tuple[str, str], list[str]]:
    """Return the examples that no card has yet, by tool and language."""
    there = {(card.name, lang): {*map(str.casefold, texts)} for card in cards for lang, texts in card.examples.items()}
    new: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for lesson in lessons:
        key = lesson.tool, lesson.lang
        texts = there.setdefault(key, set())
        if lesson.example and lesson.example.casefold() not in texts:
            texts.add(lesson.example.casefold())
            new[key].append(lesson.example)
    return dict(new)


def taught(cards: Sequence[Card], lessons: Sequence[Lesson]) -> list[Card]:
    """Return the cards with the examples of lessons."""
    by_name = {card.name: card for card in cards}
    for (name, lang), new in new_examples(cards, lessons).items():
        card = by_name[name]
        by_name[name] = replace(card, examples={**card.examples, lang: (*card.examples.get(lang, ()), *new)})
    return [*by_name.values()]


def _phrases(speakers: Speakers, lessons: Sequence[Lesson]) -> dict[str, list[str]]:
    """Return the examples in the gate's form: by dialog, or by tool of the supervisor."""
    phrases: defaultdict[str, list[str]] = defaultdict(list)
    for lesson in lessons:
        dialogs = [
            dialog.name
            for dialog in speakers.dialogs.values()
            if lesson.tool == dialog.tool or any(tool.name == lesson.tool for tool in dialog.tools)
        ]
        for name in dialogs or [lesson.tool]:
            phrases[name].append(lesson.example)
    return dict(phrases)
