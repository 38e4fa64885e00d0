"""What is completed at the prompt: slash commands and what stands behind them, and answers to an open question."""

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agents.language.text.clean import clean
from agents.toolkit.questions.options import naming
from app.doors import slash_commands
from app.doors.visit import Visit


@dataclass
class Completions(Completer):
    """Completes what is typed in a visit."""

    visit: Visit
    lang: Callable[[], str]

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield answers: options by number or by label, or the fields of a form that are on a line of their own."""
        if (question := self.visit.question) is None:
            return
        typed = document.text
        for number, option in enumerate(question.options, 1):
            label = " ".join(clean(option["label"]).split())
            if str(number) == typed or label.casefold().startswith(typed.casefold()):
                shown = {"display": f"{number}. {label}", "display_meta": clean(option.get("detail", ""))}
                yield Completion(naming(number - 1, question.options, self.lang()), -len(typed), **shown)
        *_, line = typed.split("\n")
        for field in question.fields if len(question.fields) > 1 else []:
            if f"{field['label']}: ".casefold().startswith(line.casefold()):
                yield Completion(f"{field['label']}: ", start_position=-len(line))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the answers, then the commands, or the arguments of one, that begin with what was typed."""
        for answer in self.get_completions(document, complete_event):
            yield answer
        typed = document.text
        if not typed.startswith("/") or "\n" in typed:
            return
        name, space, argument = typed[1:].partition(" ")
        if space:
            choices = await slash_commands.choices(name, self.visit)
        else:
            argument, door = typed, self.visit.door.name
            choices = {f"/{entry.name}": entry.description(self.lang()) for entry in slash_commands.offered(door)}
        for text, about in choices.items():
            if text.casefold().startswith(argument.casefold()):
                yield Completion(text, start_position=-len(argument), display_meta=about)
