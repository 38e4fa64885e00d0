"""Complete answers at the prompt while a tool waits for the user."""

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agents.language.text.clean import clean
from agents.toolkit.questions.options import naming
from app.doors.visit import Visit


class Answers(Completer):
    """Complete an answer to what a tool has asked."""

    def __init__(self, visit: Visit, lang: Callable[[], str]) -> None:
        self._visit, self._lang = visit, lang

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the options by number or by label, or the fields of a form that are on a line of their own."""
        if (question := self._visit.question) is None:
            return
        typed = document.text
        for number, option in enumerate(question.options, 1):
            label = " ".join(clean(option["label"]).split())
            if str(number) == typed or label.casefold().startswith(typed.casefold()):
                shown = {"display": f"{number}. {label}", "display_meta": clean(option.get("detail", ""))}
                yield Completion(naming(number - 1, question.options, self._lang()), -len(typed), **shown)
        *_, line = typed.split("\n")
        for field in question.fields if len(question.fields) > 1 else []:
            if f"{field['label']}: ".casefold().startswith(line.casefold()):
                yield Completion(f"{field['label']}: ", start_position=-len(line))
