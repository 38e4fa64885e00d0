"""The kinds of rules that strict servers have, each under a name of its own."""

from collections.abc import Mapping, Sequence

from tests.support.strict_providers.chat import EXTRAS, ChatForm, Rules
from tests.support.strict_providers.responses import ResponsesForm
from tests.support.strict_providers.server import StrictServer, WireForm

KEYS = {
    "system": ("role", "content"),
    "user": ("role", "content"),
    "assistant": ("role", "content", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}
OLD_LIMIT = tuple(name for name in EXTRAS if name != "max_tokens")
CHAT: Mapping[str, Rules] = {
    "plain": Rules(),
    "no-extras": Rules(refused=EXTRAS, words="property '{field}' is unsupported", known_keys=KEYS),
    "no-cache-key": Rules(refused=["prompt_cache_key"], words="Unrecognized request argument supplied: {field}"),
    "no-stream-options": Rules(
        refused=["stream_options"], error="detail", words="Extra inputs are not permitted: {field}"
    ),
    "new-limit": Rules(
        refused=["max_tokens"], words="Unsupported parameter: '{field}' is not supported with this model."
    ),
    "old-limit": Rules(refused=OLD_LIMIT, error="list", words='Invalid JSON payload received. Unknown name "{field}"'),
    "no-null": Rules(null=False, error="detail"),
    "no-empty": Rules(empty=False, error="text"),
    "short-words": Rules(error="text", overflow="This model's maximum prompt length is 8192 tokens."),
    "other-words": Rules(error="list", overflow="<400> InternalError.Algo: Range of input length should be [1, 8192]"),
    "no-null-no-empty": Rules(null=False, empty=False),
    "thinking-in-the-turn": Rules(thinking="reasoning_content", wanted="turn"),
    "thinking-for-ever": Rules(thinking="reasoning_content", wanted="always"),
    "other-thinking": Rules(thinking="reasoning", wanted="turn"),
    "details": Rules(details=True),
    "signatures": Rules(signed=True, error="list"),
    "filter": Rules(filters=True),
    "named-error": Rules(failing="event"),
    "error-end": Rules(failing="end", error="text"),
    "nine-characters": Rules(call_id="[a-zA-Z0-9]{9}"),
}
"""Chat completions, by what is strict about them."""
PARAMETERS: Mapping[str, Mapping[str, object]] = {"responses": {"wire": "responses"}}
"""The parameters of a model behind a form that is not asked by chat completions."""


def forms() -> Mapping[str, Sequence[WireForm]]:
    """Return all forms anew, by name; some can be asked in either form of OpenAI's."""
    chats = {name: [ChatForm(rules)] for name, rules in CHAT.items()}
    return {
        **chats,
        "other-form": [ChatForm(Rules(needs_no_effort=True)), ResponsesForm()],
        "responses": [ResponsesForm()],
    }


def strict_server() -> StrictServer:
    """Return a server of all forms."""
    return StrictServer(forms())
