"""A test of open models' chat templates with our prompts: it counts refused prompts and lost texts.

`python -m benchmarks.templates --data DIR`: DIR holds templates (`*.jinja`), as the source distribution of
`llama-cpp-python` carries them in `vendor/llama.cpp/models/templates`. Whole conversations are played with a script
in place of the models, and each prompt is rendered with each template that takes tools.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import convert_to_openai_messages

from agents.graph import build_graph
from agents.memory.sqlite_file import SqliteBackend
from app.assistant import Assistant, Turn
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition import discover, plugins_found, tables_of
from app.testing.script import Asked, Call, Script
from benchmarks.chat_template import ChatTemplate, Refused, lost, read_templates
from benchmarks.report import Row, arguments, show
from prompts import languages

Json = dict[str, Any]
TALK: Sequence[tuple[str | None, dict[str, Sequence[Any]]]] = [
    (None, {"supervisor": ["Good day. Shall we begin with getting acquainted?"]}),
    ("What can you do?", {"supervisor": [Call("list_abilities"), "I plan, and I keep your profile."]}),
    (
        "Put milk and bread on my list, and what time is it?",
        {
            "supervisor": [Call("plan_things", {"brief": "milk and bread on the list, then the time"})],
            "planner": [
                ["Gladly.", Call("add_todos", {"items": ["milk"]}), Call("add_todos", {"items": ["bread"]})],
                Call("list_todos"),
                "Both are on the list.",
            ],
        },
    ),
    ("And eggs", {"planner": [Call("add_todos", {"items": ["eggs"]}), "Eggs, too."], "observer": ["stay"]}),
    ("Take one of them off", {"planner": [Call("choose_todo", {"question": "Which one?"})], "observer": ["stay"]}),
    ("the second one", {"planner": [Call("delete_todos", {"numbers": [2]}), "It is off the list."]}),
    (
        "I am a nurse, let us talk about my work",
        {
            "observer": ["profile"],
            "planner": ["…"],
            "supervisor": [Call("get_acquainted", {"brief": "is a nurse"})],
            "profile": [Call("fill_form", {"experience": "nurse"}), "A nurse. What are your skills?"],
        },
    ),
    ("Thanks, that is all", {"observer": ["yes"], "profile": ["…"], "supervisor": ["You are welcome."]}),
    ("Bye", {"supervisor": ["Good bye."]}),
]
"""The user's messages and each role's answers: opening, tools, several calls, handoff, question, observers."""


class Strict(Script):
    """A script whose roles answer with one word after their last line."""

    def next_line(self, role: str, messages: Sequence[Any]) -> Any:
        """Return the role's next line; `stay` or a dot after the last one."""
        if not self.queues.get(role):
            return "stay" if role == "observer" else "."
        return super().next_line(role, messages)


@dataclass(frozen=True)
class Result:
    """The result of one template with one prompt: a refusal, or the places of the lost texts."""

    template: str
    prompt: int
    refused: str = ""
    lost: Sequence[int] = ()
    own: Sequence[int] = ()
    """The places that the template loses in every conversation of this shape."""


async def prompts_of_a_talk(folder: Path, lang: str = "en") -> list[Asked]:
    """Play the conversation and return every prompt of a model."""
    speakers, watching = discover()
    script = Strict()
    async with SqliteBackend(f"sqlite:///{folder / 'templates.db'}").open(tables=tables_of(plugins_found())) as memory:
        graph = build_graph(speakers, watching, saver=memory.saver, store=memory.store)
        models = script.models(["supervisor", "observer", *speakers.dialogs])
        player = TurnPlayer(graph, Languages(lang, tuple(languages())), memory=memory, models=models)
        assistant = Assistant(player, speakers)
        for text, lines in TALK:
            script.queues.clear()
            script.add(**lines)
            turn = Turn(thread="templates", text=text, lang=lang, device="terminal")
            _ = [event async for event in assistant.play(turn)]
    return script.asked


def judge(template: ChatTemplate, number: int, asked: Asked) -> Result:
    """Render a prompt and look for its texts; a text that the template always loses is the template's fault."""
    messages = [_named(message) for message in convert_to_openai_messages(asked.messages)]
    try:
        missing = lost(template.render(messages, asked.tools), messages)
    except Refused as refusal:
        return Result(template.name, number, refused=str(refusal))
    if not missing:
        return Result(template.name, number)
    plain = [
        {**message, "content": f"word{place}" if message["content"] else ""} for place, message in enumerate(messages)
    ]
    own = set(lost(template.render(plain, asked.tools), plain))
    return Result(
        template.name, number, lost=[p for p in missing if p not in own], own=[p for p in missing if p in own]
    )


def _named(message: Json) -> Json:
    """Return a message in the shape of the wire: the text is a string, calls are functions."""
    return {**message, "content": message.get("content") or ""}


def summary(results: Sequence[Result], talks: int) -> list[Row]:
    """Return a row for each template with refusals or losses, and one for all."""
    rows: list[Row] = []
    names = sorted({result.template for result in results})
    for name in names:
        mine = [result for result in results if result.template == name]
        reason = next((result.refused for result in mine if result.refused), "")
        refused, gone = sum(bool(result.refused) for result in mine), sum(len(result.lost) for result in mine)
        if own := sum(len(result.own) for result in mine) or refused or gone:
            own = sum(len(result.own) for result in mine)
            rows.append(
                {
                    "template": name,
                    "prompts": talks,
                    "refused": refused,
                    "texts lost": gone,
                    "lost by any": own,
                    "why": reason[:70],
                }
            )
    takes = len({result.template for result in results} - {result.template for result in results if result.refused})
    rows.append(
        {
            "template": f"{takes} of {len(names)} take all",
            "prompts": talks,
            "refused": sum(bool(result.refused) for result in results),
            "texts lost": sum(len(result.lost) for result in results),
            "lost by any": sum(len(result.own) for result in results),
            "why": "",
        }
    )
    return rows


def main() -> None:
    """Render the conversation in each language with every template that takes tools."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with chat templates")
    chosen = parser.parse_args()
    templates = [template for template in read_templates(chosen.data) if template.takes_tools]
    asked: list[Asked] = []
    for lang in ("en", "ru"):
        with tempfile.TemporaryDirectory() as folder:
            asked += asyncio.run(prompts_of_a_talk(Path(folder), lang))
    results = [judge(template, number, request) for template in templates for number, request in enumerate(asked)]
    show(summary(results, len(asked)), as_json=chosen.json)


if __name__ == "__main__":
    main()
