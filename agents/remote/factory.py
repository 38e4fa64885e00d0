"""Make a tool of what a file says of it and of what calls it, the same for services and MCP servers."""

from collections.abc import Awaitable, Callable

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from agents.events.views import Notice
from agents.language.identifiers import Schema
from agents.remote.answer import find
from agents.remote.http_client import NoAnswer
from agents.remote.tool_spec import ToolSpec, form_of
from agents.remote.yaml_file import text_in
from agents.state.talk import Json
from agents.toolkit.confirmation import is_open
from agents.toolkit.descriptions import Texts, parameters, with_texts
from agents.toolkit.result import Answer, Refused
from agents.toolkit.traits import DAY, Traits, with_traits
from prompts import phrase

LONGEST_REASON = 500
"""Characters of a refusal that a model is told."""


def made(
    spec: ToolSpec,
    call: Callable[..., Awaitable[Answer]],
    *,
    name: str,
    description: str,
    arguments: type[BaseModel] | Json,
    result: Schema | None,
    foreign: bool,
) -> BaseTool:
    """Return a tool that runs `call`; a model sees its name, description, arguments and result schema.

    `foreign`: whether the service or server says so of its answers.
    """
    tool = StructuredTool.from_function(
        coroutine=call,
        name=name,
        description=description,
        args_schema=arguments,
        infer_schema=False,
        response_format="content_and_artifact",
    )
    labels = {key: parameter.label for key, parameter in spec.parameters.items() if parameter.label}
    texts = Texts(descriptions=spec.description, examples=spec.examples, titles=spec.title, labels=labels)
    with_texts(tool, texts)
    traits = Traits(
        kind=spec.kind,
        effect="write" if spec.writes else "read",
        key=spec.key,
        again_after=spec.again_after.time if spec.again_after else DAY,
        repeatable=bool(spec.key),
        result=result,
        form=form_of(f"{name}_form", spec.form) if spec.form else None,
        view=spec.view.kind if spec.view else "",
        permission=spec.permission,
        volatile=True,
        confirm=spec.confirm,
        foreign=foreign if spec.foreign is None else spec.foreign,
        egress=is_open(parameters(tool)) if spec.egress is None else spec.egress,
    )
    return with_traits(tool, traits)


def refusal(spec: ToolSpec, tool: str, body: object, code: str, lang: str) -> Refused:
    """Return what a tool raises that was refused: with the reason that `body` holds, else the bare `code`."""
    try:
        reason = find(spec.errors.message, body)
    except NoAnswer:
        reason = None
    text = " ".join((reason if isinstance(reason, str) else code).split())[:LONGEST_REASON] or code
    return Refused(phrase("tool_rejected", lang, tool=tool, reason=text), notice(spec, lang))


def notice(spec: ToolSpec, lang: str) -> Notice | None:
    """Return what the user is shown when a call comes to nothing."""
    text = text_in(spec.errors.notice, lang)
    return Notice(message=text, level="error") if text else None
