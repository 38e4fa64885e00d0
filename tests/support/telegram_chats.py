"""The chats of the test server: messages, drafts, topics and members, and what the bot does to them."""

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.support.telegram_http import Reply, Upload

DATE = 1_790_000_000
BOT: dict[str, Any] = {"id": 1234567, "is_bot": True, "first_name": "Sue", "username": "sue_bot"}
SHOWN = ("text", "entities", "caption", "reply_markup", "message_thread_id")
RIGHTS = (
    *("can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages", "can_manage_video_chats"),
    *("can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users", "can_post_stories"),
    *("can_edit_stories", "can_delete_stories", "can_send_welcome_messages"),
)
"""The rights of an administrator; the Bot API requires the whole list."""
LARGEST = 20 * 2**20
"""Bytes of a file that a bot can download."""
UNCHANGED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a"
    " current content and reply markup of the message"
)

Json = dict[str, Any]


class Refused(Exception):
    """Telegram refuses a call, in its own words."""

    def __init__(self, status: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.reply = refusal(status, description, **parameters)


@dataclass
class Draft:
    """A draft on the user's screen, frame by frame."""

    chat: int
    draft_id: int
    topic: int | None
    can_stop: bool
    keeps: bool
    """Whether the draft stays after a stop."""
    frames: list[str] = field(default_factory=list)


@dataclass
class TelegramChats:
    """The chats of a bot, and the effects of its calls."""

    bot: Json = field(default_factory=lambda: dict(BOT))
    numbers: "count[int]" = field(default_factory=lambda: count(1))
    sent: list[Json] = field(default_factory=list)
    """The bot's undeleted messages in their present form."""
    messages: dict[tuple[int, int], Json] = field(default_factory=dict)
    """All messages, of people too, by chat and number."""
    keyboards: dict[tuple[int, int], Json] = field(default_factory=dict)
    """The last buttons of each message, even if they are gone."""
    drafts: list[Draft] = field(default_factory=list)
    blocked: set[int] = field(default_factory=set)
    """The users who have blocked the bot, and the groups that have thrown it out."""
    topics: dict[int, set[int]] = field(default_factory=dict)
    """The topics of each chat that has any."""
    closed: dict[int, str] = field(default_factory=dict)
    """The topics in which nobody may write now, with Telegram's words."""
    moved: dict[int, int] = field(default_factory=dict)
    """The groups that became supergroups, with their new numbers."""
    admins: dict[int, list[int]] = field(default_factory=dict)
    queries: set[str] = field(default_factory=set)
    """The taps that wait for an answer."""
    reactions: list[Json] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    unreachable: set[str] = field(default_factory=set)
    """Addresses of pictures that Telegram cannot fetch."""
    webhook: str = ""
    secret: str = ""
    """The secret that Telegram sends to the webhook."""
    wanted: list[str] = field(default_factory=list)
    """The kinds of updates that Telegram sends to the webhook."""
    descriptions: dict[str, str] = field(default_factory=dict)
    """The bot's description, by language ("": all others)."""
    menus: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """The commands with their descriptions, by scope ("all_group_chats", "chat 11") and language ("": all others)."""

    def do(self, method: str, sent: Json) -> Any:
        """Carry a call out and return its result.

        Raises:
            Refused: Telegram would refuse it.
        """
        if isinstance(chat := sent.get("chat_id"), int):
            self._check_place(chat, sent)
        action: Callable[[Json], Any] = getattr(self, f"_{_snake(method)}", self._true)
        return action(sent)

    def chat(self, number: int) -> Json:
        """Return a chat in the form of a message."""
        if number > 0:
            return {"id": number, "type": "private", "first_name": "Ann"}
        forum = {"is_forum": True} if number in self.topics else {}
        kind = "supergroup" if number <= -100_000 or number in self.topics else "group"
        return {"id": number, "type": kind, "title": "All", **forum}

    def member(self, status: str) -> Json:
        """Return the bot's status in a chat, in Telegram's form."""
        rights = dict.fromkeys(RIGHTS, False) if status == "administrator" else {}
        until = {"until_date": 0} if status == "kicked" else {}
        return {"status": status, "user": self.bot, **rights, **until}

    def keep(self, message: Json) -> Json:
        """Keep a message, and return it."""
        place = message["chat"]["id"], message["message_id"]
        self.messages[place] = message
        if "reply_markup" in message:
            self.keyboards[place] = message["reply_markup"]
        return message

    def _check_place(self, chat: int, sent: Json) -> None:
        if chat in self.moved:
            words = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Refused(400, words, migrate_to_chat_id=self.moved[chat])
        if chat in self.blocked:
            by = "bot was blocked by the user" if chat > 0 else "bot was kicked from the supergroup chat"
            raise Refused(403, f"Forbidden: {by}")
        if (topic := sent.get("message_thread_id")) and topic not in self.topics.get(chat, set()):
            raise Refused(400, "Bad Request: message thread not found")
        if topic in self.closed:
            raise Refused(400, self.closed[topic])
        reply = sent.get("reply_parameters", {})
        is_known = (chat, reply.get("message_id")) in self.messages
        if reply and not is_known and not reply.get("allow_sending_without_reply"):
            raise Refused(400, "Bad Request: message to be replied not found")

    def _get_me(self, sent: Json) -> Json:
        return self.bot

    def _get_webhook_info(self, sent: Json) -> Json:
        wanted = {"allowed_updates": self.wanted} if self.wanted else {}
        return {"url": self.webhook, "has_custom_certificate": False, "pending_update_count": 0, **wanted}

    def _set_webhook(self, sent: Json) -> bool:
        if not sent["url"].startswith("https://"):
            raise Refused(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        self.webhook, self.secret = sent["url"], sent.get("secret_token", "")
        self.wanted = sent.get("allowed_updates", [])
        return True

    def _get_my_description(self, sent: Json) -> Json:
        lang = sent.get("language_code", "")
        return {"description": self.descriptions.get(lang) or self.descriptions.get("", "")}

    def _set_my_description(self, sent: Json) -> bool:
        self.descriptions[sent.get("language_code", "")] = sent["description"]
        return True

    def _delete_webhook(self, sent: Json) -> bool:
        self.webhook = ""
        return True

    def _send_message(self, sent: Json, **media: Any) -> Json:
        shown: Json = {name: copy.deepcopy(sent[name]) for name in SHOWN if name in sent}
        if "inline_keyboard" not in shown.get("reply_markup", {}):
            # Buttons below the chat do not belong to the message.
            shown.pop("reply_markup", None)
        if "message_thread_id" in shown:
            shown["is_topic_message"] = True
        if answered := self.messages.get((sent["chat_id"], sent.get("reply_parameters", {}).get("message_id"))):
            shown["reply_to_message"] = {
                name: part for name, part in answered.items() if name not in ("reply_to_message", "quote")
            }
        place = {"message_id": next(self.numbers), "date": DATE, "chat": self.chat(sent["chat_id"]), "from": self.bot}
        message = self.keep({**place, **shown, **media})
        self.sent.append(message)
        return message

    def _send_document(self, sent: Json) -> Json:
        file = sent["document"]
        name = file.name if isinstance(file, Upload) else str(file)
        return self._send_message(sent, document={**_file(1), "file_name": name})

    def _send_photo(self, sent: Json) -> Json:
        self._check_photo(sent["photo"], "Bad Request: wrong file identifier/HTTP URL specified")
        return self._send_message(sent, photo=[{**_file(2), "width": 9, "height": 9}])

    def _send_media_group(self, sent: Json) -> list[Json]:
        if not 2 <= len(sent["media"]) <= 10:
            raise Refused(400, "Bad Request: wrong number of media in an album")
        for number, media in enumerate(sent["media"], 1):
            failure = f'failed to send message #{number} with the error message "WEBPAGE_MEDIA_EMPTY"'
            self._check_photo(media["media"], f"Bad Request: {failure}")
        place = {name: part for name, part in sent.items() if name != "media"}
        return [self._send_photo({**place, "photo": media["media"], **_captioned(media)}) for media in sent["media"]]

    def _check_photo(self, photo: object, refused: str) -> None:
        """Let Telegram fetch a picture whose address was sent."""
        if not isinstance(photo, Upload) and (photo in self.unreachable or not str(photo).startswith("http")):
            raise Refused(400, refused)

    def _send_message_draft(self, sent: Json) -> bool:
        if sent["chat_id"] < 0:
            raise Refused(400, "Bad Request: drafts can be sent to private chats only")
        chat, draft_id, topic = sent["chat_id"], sent["draft_id"], sent.get("message_thread_id")
        if not self.drafts or (self.drafts[-1].chat, self.drafts[-1].draft_id) != (chat, draft_id):
            same = [draft for draft in self.drafts if (draft.chat, draft.draft_id) == (chat, draft_id)]
            new = Draft(chat, draft_id, topic, sent.get("can_stop", False), sent.get("keep_on_stop", False))
            self.drafts = [*(draft for draft in self.drafts if draft not in same), *(same or [new])]
        self.drafts[-1].frames.append(sent.get("text", ""))
        return True

    def _edit_message_text(self, sent: Json) -> Json:
        return self._edit(sent, {"entities": None, "reply_markup": None})

    def _edit_message_reply_markup(self, sent: Json) -> Json:
        return self._edit(sent, {"reply_markup": None})

    def _edit(self, sent: Json, emptied: Mapping[str, Any]) -> Json:
        """Change a message of the bot; the `emptied` parts go unless the call names them again."""
        message = self.messages.get((sent["chat_id"], sent.get("message_id", 0)))
        if message is None:
            raise Refused(400, "Bad Request: message to edit not found")
        if message["from"]["id"] != self.bot["id"]:
            raise Refused(400, "Bad Request: message can't be edited")
        shown: Json = {name: copy.deepcopy(sent[name]) for name in ("text", "entities", "reply_markup") if name in sent}
        merged: Json = {**message, **emptied, **shown}
        changed = {name: part for name, part in merged.items() if part not in (None, [], {"inline_keyboard": []})}
        if changed == message:
            raise Refused(400, UNCHANGED)
        message.clear()
        message.update(changed)
        return self.keep(message)

    def _delete_message(self, sent: Json) -> bool:
        message = self.messages.pop((sent["chat_id"], sent["message_id"]), None)
        if message is None:
            raise Refused(400, "Bad Request: message to delete not found")
        self.sent = [other for other in self.sent if other is not message]
        return True

    def _answer_callback_query(self, sent: Json) -> bool:
        if sent["callback_query_id"] not in self.queries:
            raise Refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        self.queries.remove(sent["callback_query_id"])
        return True

    def _set_message_reaction(self, sent: Json) -> bool:
        if (sent["chat_id"], sent["message_id"]) not in self.messages:
            raise Refused(400, "Bad Request: message to react not found")
        self.reactions.append(sent)
        return True

    def _set_my_commands(self, sent: Json) -> bool:
        scope = sent.get("scope", {"type": "default"})
        chat = scope.get("chat_id")
        if chat in self.blocked:
            raise Refused(400, "Bad Request: chat not found")
        name = scope["type"] if chat is None else f"{scope['type']} {chat}"
        commands = {command["command"]: command["description"] for command in sent["commands"]}
        self.menus[name, sent.get("language_code", "")] = commands
        return True

    def _get_file(self, sent: Json) -> Json:
        if sent["file_id"] not in self.files:
            raise Refused(400, "Bad Request: invalid file_id")
        size = len(self.files[sent["file_id"]])
        if size > LARGEST:
            raise Refused(400, "Bad Request: file is too big")
        return {
            "file_id": sent["file_id"],
            "file_unique_id": sent["file_id"],
            "file_size": size,
            "file_path": f"files/{sent['file_id']}",
        }

    def _get_chat_member(self, sent: Json) -> Json:
        user = {"id": sent["user_id"], "is_bot": False, "first_name": "Ann"}
        if sent["user_id"] in self.admins.get(sent["chat_id"], []):
            return {"status": "creator", "user": user, "is_anonymous": False}
        return {"status": "member", "user": user}

    def _get_chat_administrators(self, sent: Json) -> list[Json]:
        return [
            self._get_chat_member({"chat_id": sent["chat_id"], "user_id": user})
            for user in self.admins.get(sent["chat_id"], [])
        ]

    def _true(self, sent: Json) -> bool:
        return True


def refusal(status: int, description: str, **parameters: int) -> Reply:
    """Return a failure as Telegram words it."""
    more = {"parameters": parameters} if parameters else {}
    return status, {"ok": False, "error_code": status, "description": description, **more}


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda letter: f"_{letter[1].lower()}", name)


def _file(number: int) -> Json:
    return {"file_id": str(number), "file_unique_id": str(number)}


def _captioned(media: Mapping[str, Any]) -> Json:
    return {name: media[name] for name in ("caption",) if name in media}
