"""Dialogs: specialists that take the conversation over. A dialog is one file, or a folder with its own files.

It defines `dialog`. The name of the file or the folder is the dialog's name; its prompt is
`prompts/<lang>/<name>/prompt.md`. An agent graph (`agent=create_agent(…)`) has its prompt there as well.
"""

import pkgutil
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from inspect import getclosurevars, isfunction, signature
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from pydantic import BaseModel, InstanceOf, ValidationError

import prompts
from agents.discovery import load_each, place_of
from agents.errors import ContractError
from agents.field_types import wrong_default
from agents.models.factory import DEFAULT, FALLBACK, OBSERVER, Parameters
from agents.plugin import Plugin
from agents.state import SUPERVISOR
from agents.toolkit.questions.form import wrong_mark
from agents.toolkit.speaker import Speaker
from agents.toolkit.traits import Traits, traits_of
from prompts import variables

STEPS = frozenset({"route", "verdict", "settle", "ask", "undo", "shortcut", "summary"})
"""The names of the graph's nodes other than speakers."""
PREVIOUS = "__previous__"
"""The channel of LangGraph's `entrypoint` for its last return value."""


@dataclass(frozen=True, kw_only=True)
class Dialog(Speaker, Plugin):
    """A specialist: a plug-in with a speaker. `Speaker` has the fields of the speaker, `Plugin` those of the plug-in.

    The name of the file or the folder becomes its `name`.
    """

    name: str = ""
    """Leave it out: it is set when the dialog is found."""
    tool: str = field()
    description: str = field()
    tools: Sequence[BaseTool] = ()
    """The dialog's tools; those for handoffs, its form and help are added. An agent graph has its own tools."""
    observers: Sequence[str] = ("supervisor", "finished")
    """The observers that watch it, by name."""
    model: str = ""
    """Its own model, such as `openai:gpt-5-mini`; empty: that of the settings."""
    parameters: InstanceOf[Parameters] | None = None
    """The parameters of its model, in place of those of the settings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch("[a-z][a-z0-9_]{1,63}", self.tool):
            raise ContractError(f"Dialog.tool must be a plain name like 'return_an_order', found {self.tool!r}")
        if not self.description.startswith("Used for "):
            raise ContractError(f"Dialog.description must begin with 'Used for ', found {self.description!r}")
        if fault := self.agent and _misfit(self.agent):
            raise ContractError(f"Dialog.agent {fault} (docs/langgraph-agents.md)")
        if self.agent and (self.tools or self.form):
            raise ContractError("Dialog.agent has its own tools and fills in no form: leave `tools` and `form` out")
        others = [tool for tool in self.tools if not isinstance(tool, BaseTool)]
        if others:
            raise ContractError(f"Dialog.tools must be tools (`@tool` above the function), found {others[0]!r}")
        if misform := self.form and _misform(self.form):
            raise ContractError(f"Dialog.form {misform}")
        if self.remember and not self.form:
            raise ContractError("Dialog.remember keeps a form: set form=…")

    def __str__(self) -> str:
        """Return a line for people."""
        form = f", fills {', '.join(self.form.model_fields)}" if self.form else ""
        tools = ", ".join(tool.name for tool in self.tools) or "no tools"
        return f"{self.tool} (v{self.version}): {self.description} [{tools}{form}; resume: {self.resume}]"

    def named(self, name: str) -> Speaker:
        """Return the dialog as a speaker of that name."""
        return replace(self, name=name)


def tools_in(package: str) -> list[BaseTool]:
    """Return the tools in the folder `tools/` of a dialog, by its `__name__`: one in each file, named like the file.

    Raises:
        ContractError: a file defines no tool of its name.
    """
    folder, tools = Path(str(import_module(package).__file__)).with_name("tools"), list[BaseTool]()
    for name in sorted(module.name for module in pkgutil.iter_modules([str(folder)])):
        tool = getattr(import_module(f"{package}.tools.{name}"), name, None)
        if not isinstance(tool, BaseTool):
            raise ContractError(f"tools/{name}.py must define a tool called {name}, found {tool!r}")
        tools.append(tool)
    return tools


def _misfit(agent: object) -> str:
    """Return the reason why an agent graph cannot be a dialog; empty if it can."""
    if not isinstance(agent, Pregel):
        return f"must be a compiled LangGraph graph, found {agent!r}"
    if "messages" not in input_keys(agent):
        return "must take `messages` as its input"
    if agent.interrupt_before_nodes or agent.interrupt_after_nodes:
        return "has breakpoints (`interrupt_before`, `interrupt_after`): let a node call `interrupt()` instead"
    graphs = graphs_in(agent)
    if graph := next((graph for graph in graphs if graph.checkpointer), None):
        place = "is" if graph is agent else f"has a graph inside ({graph.get_name()}) that is"
        return f"{place} compiled with a `checkpointer` of its own: leave it out, a dialog's memory is the assistant's"
    if any(map(_reads_previous, graphs)):
        return "reads `previous`, which a dialog does not keep: take a key of the input instead"
    if name := next((tool.name for graph in graphs for tool in _tools_of(graph) if _promises(traits_of(tool))), ""):
        return f"calls {name}, whose traits promise what holds in `Dialog(tools=…)` alone: leave them out in a graph"
    return ""


def _misform(form: object) -> str:
    """Return the reason why a model cannot be a form; empty if it can."""
    if not (isinstance(form, type) and issubclass(form, BaseModel) and form.model_fields):
        return f"must be a class of pydantic's BaseModel with fields, found {form!r}"
    # A type that does not exist, or that JSON cannot write, is told here, and not in the middle of a turn.
    form.model_rebuild()
    form.model_json_schema()
    if required := [name for name, info in form.model_fields.items() if info.is_required()]:
        return f"{form!r} needs defaults for 'not known yet': {', '.join(required)}"
    try:
        form()
    except ValidationError as wrong:
        return f"cannot begin empty: {wrong.errors()[0]['msg']}"
    return wrong_default(form) or wrong_mark(form)


def is_reserved(name: str) -> bool:
    """Tell whether a name is a role or an entry of the settings, or a node of the graph: no dialog may take it."""
    return name.startswith("__") or name.casefold() in {SUPERVISOR, OBSERVER, DEFAULT, FALLBACK, *STEPS}


def graphs_in(agent: Pregel[Any, Any, Any, Any]) -> list[Pregel[Any, Any, Any, Any]]:
    """Return a graph and the graphs within it: its nodes, and the graphs that the functions of its tools refer to."""
    graphs = [agent]
    # The list grows while it is gone through.
    for graph in graphs:
        named = [value for tool in _tools_of(graph) for value in _named_in(tool)]
        inner = [*(inner for _, inner in graph.get_subgraphs()), *named]
        graphs += [it for it in inner if isinstance(it, Pregel) and not any(it is other for other in graphs)]
    return graphs


def input_keys(agent: Pregel[Any, Any, Any, Any]) -> set[str]:
    """Return a graph's input keys."""
    # Its JSON schema has the keys, too, but is slow to make, and some types have none.
    if isinstance(agent, CompiledStateGraph):
        return {*agent.builder.schemas[agent.builder.input_schema]}
    schema = agent.get_input_jsonschema()
    schema = schema.get("$defs", {}).get(schema.get("$ref", "").rpartition("/")[2], schema)
    return {*schema.get("properties", {})}


def _tools_of(graph: Pregel[Any, Any, Any, Any]) -> list[BaseTool]:
    nodes = [node.bound for node in graph.nodes.values()]
    return [tool for node in nodes if isinstance(node, ToolNode) for tool in node.tools_by_name.values()]


def _named_in(tool: BaseTool) -> list[object]:
    """Return the values that the functions of a tool refer to outside themselves."""
    functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
    named = list[object]()
    for function in filter(isfunction, functions):
        # A variable without a value raises ValueError.
        with suppress(ValueError):
            names = getclosurevars(function)
            named += (*names.nonlocals.values(), *names.globals.values())
    return named


def _reads_previous(graph: Pregel[Any, Any, Any, Any]) -> bool:
    """Tell whether a graph is a function (`entrypoint`) that reads its return value of the run before."""
    bound = [node.bound for node in graph.nodes.values() if PREVIOUS in graph.channels]
    functions = [getattr(node, name, None) for node in bound for name in ("func", "afunc")]
    return any("previous" in signature(function).parameters for function in functions if callable(function))


def _promises(traits: Traits) -> bool:
    """Tell whether traits promise something that only our own tool node can keep: once, asked first, in private."""
    return traits.effect == "write" or traits.kind != "general" or bool(traits.permission) or traits.private


def discover(languages: Collection[str], observers: Collection[str]) -> dict[str, Dialog]:
    """Load every dialog by file name: of this folder, unless it is switched off, and of the folders of extensions.

    Raises:
        ContractError: a file defines no `dialog = Dialog(...)`, or the dialog names an unknown observer.
        PromptError: a dialog has no prompt; one that is an agent needs none.
    """
    dialogs = load_each(__name__, __path__, Dialog, prompts.OFF)
    for name, dialog in dialogs.items():
        if is_reserved(name):
            raise ContractError(f"dialogs/{name}.py: {name!r} is reserved: rename the file")
        place = place_of(f"{__name__}.{name}")
        unknown = sorted(set(dialog.observers) - set(observers))
        if unknown:
            raise ContractError(f"{place} names observers that do not exist: {', '.join(unknown)}")
        if there := {*dialog.formerly} & dialogs.keys():
            raise ContractError(f"{place}: Dialog.formerly names a dialog that there is: {', '.join(sorted(there))}")
        if dialog.agent is None and not dialog.roles:
            for lang in languages:
                variables(f"{name}/prompt", lang)
    return dialogs
