"""A conversation in Chinese with `local:rules`: a language without blanks is a folder of texts."""

from pathlib import Path

import pytest

from agents.events import Event, Message, ToolEnd, trace
from app.assistant import Assistant, Turn
from tests.support.standin_table import standin

pytestmark = pytest.mark.needs("planner", "profile")

TALK = (
    ("我们认识一下", "你是做什么的"),
    ("我是护士", "经历: “护士”"),
    ("是", "经历：护士"),
    ("Python和SQL", "技能: “Python”, “SQL”"),
    ("是", "技能：Python, SQL"),
    ("登山、阅读", "兴趣: “登山”, “阅读”"),
    ("是", "兴趣：登山, 阅读"),
    ("明天下午三点提醒我给妈妈打电话", "明天15:00"),
    ("把第三个提醒推迟半小时", "明天15:30"),
    ("把绿茶和咖啡加到我的清单", "4. 绿茶"),
    ("从清单里删除第二个", "面包"),
    ("撤销", "面包"),
    ("明天我有什么安排", "给妈妈打电话"),
    ("show my list", "1. 牛奶"),
    ("谢谢", "不客气"),
)
"""The user's messages, and words of the answers."""
CALLED = (
    "fill_form(experience='护士')",
    "fill_form(skills=['Python', 'SQL'])",
    "fill_form(interests=['登山', '阅读'])",
    "add_reminder(when='明天 下午 三点', text='给妈妈打电话')",
    "change_reminder(number=3, when='半小时')",
    "add_todos(items=['绿茶', '咖啡'])",
    "delete_todos(numbers=[2])",
    "agenda(when='明天')",
)


async def said(assistant: Assistant, text: str) -> tuple[list[Event], str]:
    """Say a text in a conversation in Chinese; return the events and the answer."""
    events = [event async for event in assistant.play(Turn(thread="u", text=text, lang="zh"))]
    return events, "\n".join(event.text for event in events if isinstance(event, Message))


async def test_a_conversation_in_chinese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Form, reminders and lists are understood and answered, numbers and times in Chinese figures among them."""
    monkeypatch.setenv("TZ", "UTC")
    events: list[Event] = []
    async with standin(tmp_path / "said.db") as room:
        await room.prepare("u", "zh")
        for text, answer in TALK:
            heard, reply = await said(room.assistant, text)
            assert answer in reply, (text, reply)
            events += heard
    turn_trace = trace(events)
    assert [call for call in CALLED if call not in turn_trace] == []
    assert all(event.ok for event in events if isinstance(event, ToolEnd))
