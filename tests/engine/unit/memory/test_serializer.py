"""The serializer of checkpoints: a message is packed once, and a changed message anew."""

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agents.memory.serializer import CACHED, LONGEST, Serializer


def reloaded(serializer: Serializer, *messages: BaseMessage) -> list[BaseMessage]:
    """Return messages that were packed, and unpacked by a process that has not seen them."""
    loaded = Serializer().loads_typed(serializer.dumps_typed([*messages]))
    assert isinstance(loaded, list)
    return loaded


def test_a_message_that_was_changed_in_place_is_packed_anew() -> None:
    """A change of a field, or within a field, is stored."""
    serializer = Serializer()
    message = AIMessage("hello", additional_kwargs={"labels": ["a"]})
    assert reloaded(serializer, message) == [message]
    message.id = "m1"
    assert reloaded(serializer, message) == [message]
    message.additional_kwargs["labels"].append("b")
    assert reloaded(serializer, message) == [message]


def test_a_loaded_message_that_was_changed_does_not_change_what_is_stored() -> None:
    """A reader that changes its messages changes nobody else's."""
    serializer = Serializer()
    stored = serializer.dumps_typed([HumanMessage("hello", id="m1")])
    first, second = serializer.loads_typed(stored), serializer.loads_typed(stored)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert first[0] is second[0]
    first[0].content = "changed"
    assert serializer.loads_typed(stored) == [HumanMessage("hello", id="m1")]
    assert reloaded(serializer, *first) == first


def test_bytes_are_those_of_a_serializer_without_a_memory() -> None:
    """What is stored does not depend on what was packed before."""
    serializer = Serializer()
    messages = [HumanMessage("hello", id="m1"), AIMessage("hi", id="m2"), ToolMessage("1", tool_call_id="c", id="m3")]
    for _ in range(2):
        assert serializer.dumps_typed(messages) == Serializer().dumps_typed(messages)
    loaded = reloaded(serializer, *messages)
    assert serializer.dumps_typed(loaded) == serializer.dumps_typed(messages)


def test_a_process_reads_its_own_messages_without_unpacking_them() -> None:
    """A checkpoint that was written by this process holds the messages themselves, unless they were changed."""
    serializer, message = Serializer(), AIMessage("hello", additional_kwargs={"labels": ["a"]})
    stored = serializer.dumps_typed([message])
    loaded = serializer.loads_typed(stored)
    assert isinstance(loaded, list)
    assert loaded[0] is message
    message.additional_kwargs["labels"].append("b")
    assert serializer.loads_typed(stored) == [AIMessage("hello", additional_kwargs={"labels": ["a"]})]


def test_the_memory_is_bounded() -> None:
    """A long message is not cached, and of the others only a number."""
    serializer = Serializer()
    long = serializer.dumps_typed(HumanMessage("x" * LONGEST, id="long"))
    assert serializer.loads_typed(long) is not serializer.loads_typed(long)
    serializer.dumps_typed([HumanMessage(str(number), id=str(number)) for number in range(CACHED + 10)])
    assert len(serializer._by_bytes) == len(serializer._by_identity) == CACHED
