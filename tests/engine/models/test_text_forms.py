"""Texts of models that are no words to the user: each is taken for its call, is left out, or makes no reply.

Every text is read whole, character by character, and cut in two at many places.
"""

import json
import random
import re
import sys
from collections.abc import Iterable
from contextlib import suppress

import pytest

from agents.errors import GarbledReply
from agents.models import ToolSchema, answer
from agents.models.answer import BLOCK, ECHO, AnswerText
from agents.models.text_calls import Offer, TextCall, forms

ADD, TIME = "add_todos", "current_time"
MILK: TextCall = (ADD, {"items": ["milk"]})
ARGS = json.dumps(MILK[1])
CALL = f'{{"name": "{ADD}", "arguments": {ARGS}}}'
FENCE = "```"
CUTS = 3
"""A text is cut in two at each place of so many."""


def schema(name: str, properties: Iterable[str], required: Iterable[str] = ()) -> ToolSchema:
    """Return a tool as a model is offered it."""
    given = {"type": "object", "properties": {key: {} for key in properties}, "required": [*required]}
    return {"type": "function", "function": {"name": name, "parameters": given}}


TOOLS = [schema(ADD, ["items", "day"], ["items"]), schema(TIME, [])]


def read(pieces: Iterable[str], heard: str, instructions: str) -> tuple[str, list[TextCall]] | None:
    """Return the shown text of a reply, and its calls; None for a broken reply."""
    text, shown = AnswerText(offer=Offer(TOOLS, heard), instructions=instructions), ""
    try:
        for piece in pieces:
            before = text.answer
            more = text.feed(piece)
            shown = text.answer if len(text.answer) < len(before) + len(more) else shown + more
        shown += text.rest()
    except GarbledReply:
        return None
    assert shown == text.answer
    return shown.rstrip(), [*text.calls]


def outcome(text: str, heard: str = "", instructions: str = "") -> tuple[str, list[TextCall]] | None:
    """Return the reading of a text, the same for each cut."""
    whole = read([text], heard, instructions)
    # Texts with the same mark are of many lengths: together they are cut at each of its characters.
    for place in range(1 + len(text) % CUTS, len(text), CUTS):
        assert read([text[:place], text[place:]], heard, instructions) == whole, (text[:place], text[place:])
    assert read(text, heard, instructions) == whole
    return whole


PYTHON = f'{ADD}(items=["milk"])'
INVOKE = f'<invoke name="{ADD}">\n<parameter name="items">["milk"]</parameter>\n</invoke>'
CODER = f'<function={ADD}>\n<parameter=items>\n["milk"]\n</parameter>\n</function>'
DEEPSEEK = f'<｜DSML｜invoke name="{ADD}"><｜DSML｜parameter name="items" string="false">["milk"]</｜DSML｜parameter>'
CALLS = {
    "hermes": f"<tool_call>\n{CALL}\n</tool_call>",
    "hermes, not closed": f"<tool_call>{CALL}",
    "hermes, closed alone": f"{CALL}\n</tool_call>",
    "hermes, with a name": f'<tool_call name="{ADD}">\n{ARGS}\n</tool_call>',
    "hermes, a line for the name": f"<tool_call>\n{ADD}\n{ARGS}\n</tool_call>",
    "qwen, with an end": f"<tool_call>\n{CALL}\n</tool_call><|im_end|>\n<|im_start|>user",
    "qwen coder": f"<tool_call>\n{CODER}\n</tool_call>",
    "qwen coder, not wrapped": CODER,
    "mistral": f"[TOOL_CALLS][{CALL}]",
    "mistral, new": f"[TOOL_CALLS]{ADD}[ARGS]{ARGS}",
    "mistral, with an id": f"[TOOL_CALLS]{ADD}[CALL_ID]abcdefghi[ARGS]{ARGS}</s>",
    "llama": f'{{"name": "{ADD}", "parameters": {ARGS}}}<|eot_id|>',
    "llama, with a type": f'{{"type": "function", "name": "{ADD}", "parameters": {ARGS}}}',
    "llama, python tag": f'<|python_tag|>{{"name": "{ADD}", "parameters": {ARGS}}}<|eom_id|>',
    "llama, built in": f'<|python_tag|>{ADD}.call(items=["milk"])',
    "llama, function": f"<function={ADD}>{ARGS}</function>",
    "llama, functions": f'<function name="{ADD}">{ARGS}</function>',
    "llama, a list in Python": f"[{PYTHON}]",
    "bare": CALL,
    "bare, in a list": f"[{CALL}]",
    "bare, as OpenAI": json.dumps({"type": "function", "function": {"name": ADD, "arguments": ARGS}}),
    "bare, all calls": json.dumps({"tool_calls": [{"id": "1", "function": {"name": ADD, "arguments": ARGS}}]}),
    "bare, behind a thought": f'{{"thought": "They want milk.", "tool_calls": [{CALL}]}}',
    "bare, by its name": f'{{"{ADD}": {ARGS}}}',
    "bare, quoted as in Python": str(json.loads(CALL)),
    "name and arguments": f"{ADD}: {ARGS}",
    "python": PYTHON,
    "python, by place": f'{ADD}(["milk"])',
    "python, in a list": f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>",
    "action": f'{{"action": "{ADD}", "action_input": {ARGS}}}',
    "tool": f'{{"tool": "{ADD}", "args": {ARGS}}}',
    "react": f"Action: {ADD}\nAction Input: {ARGS}\nObservation: {{}}\nAction: {TIME}\nAction Input: {{}}",
    "tool, in words": f"Tool: {ADD}\nArguments: {ARGS}",
    "fenced": f"{FENCE}json\n{CALL}\n{FENCE}",
    "fenced, spread out": f"{FENCE}\n{json.dumps(json.loads(CALL), indent=2)}\n{FENCE}\n",
    "fenced, with a tag": f"{FENCE}xml\n<tool_call>\n{CALL}\n</tool_call>\n{FENCE}",
    "fenced, qwen coder": f"{FENCE}xml\n{CODER}\n{FENCE}",
    "fenced, python": f"{FENCE}python\n{PYTHON}\n{FENCE}",
    "inline code": f"`{CALL}`",
    "granite": f"<|tool_call|>[{CALL}]<|end_of_text|>",
    "kimi": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{ADD}:0<|tool_call_argument_begin|>{ARGS}",
    "deepseek": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{ADD}\n{FENCE}json\n{ARGS}\n{FENCE}",
    "deepseek 3.1": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{ADD}<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜>",
    "deepseek 3.2": f"<｜DSML｜function_calls>\n{DEEPSEEK}\n</｜DSML｜invoke></｜DSML｜function_calls>",
    "glm": f'<tool_call>{ADD}\n<arg_key>items</arg_key>\n<arg_value>["milk"]</arg_value>\n</tool_call>',
    "minimax": f"<minimax:tool_call>\n{INVOKE}\n</minimax:tool_call>",
    "invoke": f"<function_calls>\n{INVOKE}\n</function_calls>",
    "invoke, not wrapped": INVOKE,
    "seed": f"<seed:tool_call>\n{CODER}\n</seed:tool_call>",
    "olmo": f"<function_calls>{PYTHON}</function_calls>",
    "nemotron": f"<TOOLCALL>[{CALL}]</TOOLCALL>",
    "hunyuan": f"<tool_calls>[{CALL}]</tool_calls>",
    "apertus": f'<|tools_prefix|>[{{"{ADD}": {ARGS}}}]<|tools_suffix|>',
    "internlm": f'<|action_start|><|plugin|>\n{{"name": "{ADD}", "parameters": {ARGS}}}<|action_end|>',
    "phi": f"<|tool_call|>[{CALL}]<|/tool_call|>",
    "phi, older": f"functools[{CALL}]",
    "command": f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "{ADD}", "parameters": {ARGS}}}]<|END_ACTION|>',
    "command, older": f'Action: {FENCE}json\n[{{"tool_name": "{ADD}", "parameters": {ARGS}}}]\n{FENCE}',
    "functionary": f">>>{ADD}\n{ARGS}",
    "functionary 2": f"<|from|>assistant\n<|recipient|>{ADD}\n<|content|>{ARGS}",
    "gemma": f"{FENCE}tool_code\nprint(default_api.{PYTHON})\n{FENCE}",
    "gemma, in a tag": f"<tool_code>\n{PYTHON}\n</tool_code>",
    "gemma, as an object": f"<start_function_call>call:{ADD}{{items:[<escape>milk<escape>]}}<end_function_call>",
    "gemma 4": f'<|tool_call>call:{ADD}{{items:[<|"|>milk<|"|>]}}<tool_call|>',
    "a common tag": f"<call>{CALL}</call>",
    "a common tag, in a list": f"<code>\n[{CALL}]\n</code>",
    "a common tag, python": f"<code>{PYTHON}</code>",
    "a common tag, a name": f"<tool>{ADD}\n{ARGS}</tool>",
    "mcp": f"<use_mcp_tool>\n<tool_name>{ADD}</tool_name>\n<arguments>\n{ARGS}\n</arguments>\n</use_mcp_tool>",
    "gpt-oss": f"<|channel|>commentary to=functions.{ADD} <|constrain|>json<|message|>{ARGS}<|call|>",
    "gpt-oss, the name first": f"<|start|>assistant to=functions.{ADD}<|channel|>commentary <|message|>{ARGS}<|call|>",
    "gpt-oss, while it thinks": f"<|channel|>analysis to=functions.{ADD} <|message|>{ARGS}<|call|>",
    "behind an invented result": f"{CALL}\n<tool_response>\n{{}}\n</tool_response>\nDone.",
    "behind thinking": f"<think>They want milk.</think>\n{CALL}",
}


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_text_that_is_a_call_is_the_call(text: str) -> None:
    """Nothing of it is shown, and the tool is called with its arguments."""
    shown, calls = outcome(text) or ("", [])
    assert (shown.strip("`"), calls) == ("", [MILK])


@pytest.mark.parametrize(
    "form", ["hermes", "mistral", "bare", "fenced", "llama, python tag", "react", "python", "gemma"]
)
def test_words_before_a_call_are_said(form: str) -> None:
    """The words stand beside the call, as those of any reply with a call."""
    assert outcome(f"Let me add that.\n{CALLS[form]}") == ("Let me add that.", [MILK])


def test_a_word_within_a_line_may_begin_a_mark() -> None:
    """The name of a tool is written in plain words, and a call behind words is no word."""
    assert outcome(f"I used {ADD} (not {ADD.upper()}s).") == (
        f"I used {ADD.replace('_', ' ')} (not {ADD.upper()}s).",
        [],
    )
    assert outcome(f"Sure, {CALLS['phi, older']}") == ("Sure,", [MILK])


def test_several_calls_are_several() -> None:
    """A reply may call more than one tool."""
    two = f'<tool_call>{CALL}</tool_call>\n<tool_call>{{"name": "{TIME}", "arguments": {{}}}}</tool_call>'
    assert outcome(two) == ("", [MILK, (TIME, {})])
    assert outcome(f'{CALL}; {{"name": "{TIME}", "parameters": {{}}}}') == ("", [MILK, (TIME, {})])
    assert outcome(f"[{PYTHON}, {TIME}()]") == ("", [MILK, (TIME, {})])
    assert outcome(f"{CODER}\n<function={TIME}>{{}}</function>") == ("", [MILK, (TIME, {})])


@pytest.mark.parametrize(
    "text", [f"<tool_call>{TIME}</tool_call>", f"<function={TIME}></function>", f"Action: {TIME}\nAction Input:"]
)
def test_a_call_without_arguments_is_a_name(text: str) -> None:
    """A tool that needs none is called by its name alone, but no tool that needs some."""
    assert outcome(text) == ("", [(TIME, {})])
    assert outcome(text.replace(TIME, ADD)) is None


def test_an_argument_is_a_text_where_one_is_wanted() -> None:
    """Forms without JSON do not tell the text "5" from the number: the tool's schema does."""
    tools = [schema("set_volume", ["percent"]), schema("find_order", ["number"])]
    tools[1]["function"]["parameters"]["properties"]["number"] = {"type": "string"}
    forms_of = "<function={}><parameter={}>5</parameter></function>"
    assert Offer(tools, "").calls_in(forms_of.format("set_volume", "percent")) == [("set_volume", {"percent": 5})]
    assert Offer(tools, "").calls_in(forms_of.format("find_order", "number")) == [("find_order", {"number": "5"})]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "order_pizza", "arguments": {"size": 3}}',
        f'{{"name": "{ADD}", "arguments": {{"size": 3}}}}',
        f'{{"name": "{ADD}", "arguments": {{}}}}',
        f'{{"name": "{ADD}", "arguments": "milk"}}',
        f'{{"name": "{ADD}", "arguments": {{"items": ["milk"',
        '<tool_call>{"name": "order_pizza", "arguments": {}}</tool_call>',
        "<tool_call>add milk</tool_call>",
        "[TOOL_CALLS]",
        "<|python_tag|>print(1)",
        f"[{ADD}(items=milk)]",
        f"{ADD}(items={{1, 2}})",
        "Action Input: {}",
        f"<{ADD}><items>milk</items></{ADD}>",
        f"<tool_call>{{a: &a [x, x], b: [*a, *a], name: {ADD}}}",
        f"<function={ADD}><parameter=items>milk</function>",
        f'{FENCE}json\n{{"name": "order_pizza", "arguments": {{}}}}\n{FENCE}',
    ],
)
def test_a_call_that_is_not_sound_is_no_reply(text: str) -> None:
    """Neither is it run, nor does anybody read it."""
    assert outcome(text) is None
    assert outcome(f"Sure!\n{text}") is None or text.startswith(FENCE)


@pytest.mark.parametrize("kind", ["ends", "around"])
def test_marks_of_a_template_are_no_words(kind: str) -> None:
    """An answer ends at the end of a turn; marks around an answer are left out."""
    for mark in forms()[kind]:
        assert outcome(f"Hello there. {mark}") == ("Hello there.", [])
        more = "" if kind == "ends" else "And you?"
        assert outcome(f"Hello. {mark}And you?") == (f"Hello. {more}".rstrip(), [])
        assert outcome(f"{mark.upper()}Hello") == ("" if kind == "ends" else "Hello", [])


def test_thinking_is_left_out() -> None:
    """Whatever marks it, and with whatever letters."""
    for opening, closing in [*forms()["thinking"], *((f"<{tag}>", f"</{tag}>") for tag in forms()["tags"])]:
        assert outcome(f"{opening}Hm.{closing}Hello") == ("Hello", [])
        assert outcome(f"{opening.upper()}Hm.{closing.upper()}Hello") == ("Hello", [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<context>\nIt is Monday.\n</context>\n\nHello!", "Hello!"),
        ("Hello! <context>\nIt is Mon", "Hello!"),
        ("It is Monday.\n</context>\nHello!", "Hello!"),
        ("<|im_start|>assistant\nHello!<|im_end|>", "Hello!"),
        ("<start_of_turn>model\nHello!<end_of_turn>\n<start_of_turn>user\nHi", "Hello!"),
        ("[INST] hi [/INST]", ""),
        ("<|channel|>commentary<|message|>Hello!<|end|>", "Hello!"),
        ("Hello!<|some_token|>", "Hello!"),
        ("Thought: I know.\nFinal Answer: Hello!", "I know.\nHello!"),
        (">>>all\nHello!", "Hello!"),
        ("Hello!\n<tool_response>\n{}", "Hello!"),
        ("</tool_call>", ""),
        ("First. <think>So…</think>Second.", "First. Second."),
        ("<think>Cut off in the mid", ""),
    ],
)
def test_what_only_a_prompt_has_is_left_out(text: str, shown: str) -> None:
    """Our own blocks and the turns of others are no words of the model."""
    assert outcome(text) == (shown, [])


@pytest.mark.parametrize(
    "text",
    [
        "1 < 2 and [a] {b} `c` **d**",
        'Here you are: {"name": "Bob", "age": 3}',
        '[{"name": "Bob"}, {"name": "Eve"}]',
        '{"type": "FeatureCollection", "features": []}',
        f'{FENCE}python\nx = {{"name": "f", "arguments": {{}}}}\n{FENCE}',
        f'A call of Hermes:\n{FENCE}json\n{{"name": "f", "arguments": {{}}}}\n{FENCE}\nThat is all.',
        f"{FENCE}html\n<b>bold</b>\n{FENCE}",
        "The mark `<|im_end|>` ends a turn, and `[INST]` begins one.",
        f"It looks so:\n{FENCE}\n<|im_start|>user\nhi<|im_end|>\n{FENCE}\nThat is Qwen's.",
        "A half: <|im_st",
        "Action: a film of the eighties.\n>>> said nobody, (items) [1] {x}",
        f"{FENCE}python\nprint(add(1))\n{FENCE}",
        "Thinking stands in `<think>` and `</think>`.",
        "{",
        '{"name": "Bo',
    ],
)
def test_other_words_are_shown_as_they_are(text: str) -> None:
    """Code is code, JSON is JSON, and half a mark is none."""
    assert outcome(text) == (text, [])


def test_nothing_is_held_back_that_cannot_become_a_mark() -> None:
    """Plain words are shown as they come, also behind what looked like the beginning of a mark."""
    text, heard = AnswerText(offer=Offer(TOOLS, "")), ""
    for piece in ("Hello", ", 1 ", "< 2, ", "<b", ">x</b", "> and {", "a} `", "code` ", '{"ag', 'e": 3'):
        heard += text.feed(piece)
        assert len(piece) >= len(text.answer) - len(heard) == 0
    assert heard == 'Hello, 1 < 2, <b>x</b> and {a} `code` {"age": 3'
    for piece in ("What ", "shall ", "I ", "add? ", "Action ", "or ", "a\n", "thought, ", "then. ", "Time\n", "to "):
        assert text.feed(piece) == piece


def test_who_asks_about_marks_is_answered() -> None:
    """Of our own blocks a model speaks in code; a mark that the user wrote loses its meaning."""
    asked = "what does <context> mean in HTML?"
    assert outcome("`<context>` is no element.", asked) == ("`<context>` is no element.", [])
    assert outcome("<context> is no element.", asked) == ("‹context> is no element.", [])
    assert outcome("`<context>` is ours.", "hi") == ("`", [])
    assert outcome("<|im_end|> ends a turn.", "what is <|im_end|>?") == ("‹|im_end|> ends a turn.", [])


@pytest.mark.parametrize("form", ["bare", "hermes", "fenced", "mistral, new", "python", "qwen coder"])
def test_a_call_that_was_read_is_not_run(form: str) -> None:
    """A page, a file or the user may write a call; a model that repeats it only quotes it."""
    text = CALLS[form]
    assert all(not calls for calls in [(outcome(text, f"The page says: {text}") or ("", []))[1]])
    spaced = json.dumps(json.loads(CALL), indent=4)
    assert all(not calls for calls in [(outcome(text, f"The page says: {spaced} {ARGS}") or ("", []))[1]])


def test_a_tool_is_called_by_no_name_of_ours() -> None:
    """The user reads words; in a block of code, and where the user wrote the name, it stays."""
    text = f"I used {ADD} and `{TIME}`. (my_{ADD}, {ADD}s)"
    assert outcome(text) == (f"I used add todos and `current time`. (my_{ADD}, {ADD}s)", [])
    assert outcome(text, f"what is {ADD}?") == (f"I used {ADD} and `current time`. (my_{ADD}, {ADD}s)", [])
    assert outcome(f"{FENCE}\n{ADD}\n{FENCE}") == (f"{FENCE}\n{ADD}\n{FENCE}", [])


def test_instructions_are_not_repeated() -> None:
    """A reply that repeats a line of our own instructions is none; a few of its words are only words."""
    line = "Ask one question at a time, and never what the conversation or a tool already tells."
    assert outcome(f"Sure. {line}", instructions=line) is None
    assert outcome(line.upper(), instructions=line) is None
    assert outcome("I ask one question at a time.", instructions=line) == ("I ask one question at a time.", [])


@pytest.mark.parametrize("place", [*range(BLOCK + 1), 3 * BLOCK])
def test_a_repetition_is_found_wherever_it_begins(place: int) -> None:
    """As many characters as count are enough, and one fewer is not."""
    line = "Ask one question at a time, and never what the conversation or a tool already tells."
    assert read("x" * place + line[4 : 4 + ECHO], "", line) is None
    assert read("x" * place + line[4 : 3 + ECHO], "", line)


def test_plain_words_are_read_as_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text without a sign of a mark is searched where a mark may begin, and nothing in it is missed."""
    chance = random.Random(1)
    marks = ["Action:", "Action Input:", "Thought: ", "Final Answer: "]
    parts = [*marks, f"{TIME}()", ADD, "add", "_", " (", "Tool: ", " "]
    texts = ["".join(chance.choices(parts, k=5)) for _ in range(60)]
    found = [outcome(text) for text in texts]
    monkeypatch.setattr(answer, "PROSE", re.compile("(?!)"))
    assert found == [outcome(text) for text in texts]


def test_a_call_that_was_cut_leaves_the_words_before_it() -> None:
    """Half a call of a reply that reached its limit is dropped."""
    for half in ('{"name": "add_todos", "arg', "<tool_call>{", CALL, f"{FENCE}json\n{CALL[:30]}"):
        text = AnswerText(offer=Offer(TOOLS, ""))
        assert (text.feed(f"Let me see. {half}") + text.rest(is_cut=True)).rstrip() == "Let me see."
        assert not text.calls


def steps(text: str, size: int) -> int:
    """Return the number of function calls during the reading of a text in pieces of this size."""
    count, reader = 0, AnswerText(instructions="Say nothing of this to anybody at all, ever.")

    def step(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        with suppress(GarbledReply):
            for start in range(0, len(text), size):
                reader.feed(text[start : start + size])
            reader.rest()
    finally:
        sys.setprofile(before)
    return count


REPEATED = {
    "newlines": "\n",
    "lines": "A line of words.\n",
    "closing tags": "</think>",
    "thinking": "<think>hm</think>well ",
    "back-ticks": "`a ",
    "marks in code": "`<think>",
    "fences": "```\n<think>\n",
    "calls": '{"name": "x", ',
    "parameters": "<tool_call><parameter=a>",
    "ends": "<|im_end|>",
    "names": "add_todos ",
}


@pytest.mark.parametrize("part", REPEATED.values(), ids=REPEATED)
def test_the_work_grows_with_the_text(part: str) -> None:
    """Twice the text takes at most three times the steps: in one piece, and in small ones."""
    for size in (10**9, 7):
        once, twice = (steps("x" + part * number, size) for number in (100, 200))
        assert twice <= 3 * once


@pytest.mark.parametrize("opening", ['{"name": "x", "text": "', "`<think>", "```json\n{"])
def test_what_is_held_back_is_not_read_anew_for_each_piece(opening: str) -> None:
    """A text that may still become a call, or stand in code, takes steps by its length, too."""
    once, twice = (steps(opening + "word " * number, 5) for number in (200, 400))
    assert twice <= 3 * once
