"""What a Telegram message refers to: what it answers or quotes, who wrote what is forwarded, a caption's media."""

from telegram import (
    Message,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    User,
)

from agents.state.person import Quoted, QuotedKind
from app.doors.telegram.files import attached_to, is_foreign, shown_in

LONGEST_QUOTE = 1000
"""Characters of a text that is referred to."""


def quoted_in(message: Message, bot: User) -> list[Quoted]:
    """Return what a message refers to, for a model to be told as data."""
    quoted: list[Quoted] = []
    if origin := message.forward_origin:
        quoted.append(Quoted(kind="forward", by=_author(origin), text="", foreign=True))
    elif message.via_bot:
        quoted.append(Quoted(kind="forward", by=message.via_bot.full_name, text="", foreign=True))
    attached = list(attached_to(message))
    quoted += attached
    if not attached and (attachment := _kind_of(message)):
        quoted.append(Quoted(kind="caption", by="", text=attachment, foreign=False))
    answered, part = message.reply_to_message, message.quote
    text = part.text if part else (answered.text or answered.caption or "") if answered else ""
    if text:
        kind = _kind_of_answer(message, answered, bot)
        by = _writer(message, answered) if kind == "answer" else ""
        quoted.append(Quoted(kind=kind, by=by, text=text[:LONGEST_QUOTE], foreign=kind == "answer"))
    if answered and not attached:
        quoted += shown_in(answered)
    return quoted


def _kind_of_answer(message: Message, answered: Message | None, bot: User) -> QuotedKind:
    """Tell whose message is answered; of those that stand for a group or a channel nobody knows who wrote which."""
    is_own = answered and not answered.sender_chat and not is_foreign(answered)
    writer = answered.from_user if answered and is_own else None
    if writer == bot:
        return "answer_to_assistant"
    return "answer_to_own" if writer is not None and writer == message.from_user else "answer"


def _writer(message: Message, answered: Message | None) -> str:
    """Return who wrote what is answered, which may stand in another chat."""
    if answered is None:
        return _author(message.external_reply.origin) if message.external_reply else ""
    if origin := answered.forward_origin:
        return _author(origin)
    if answered.sender_chat:
        return answered.sender_chat.title or ""
    return answered.from_user.full_name if answered.from_user else ""


def _author(origin: object) -> str:
    match origin:
        case MessageOriginUser(sender_user=user):
            return user.full_name
        case MessageOriginHiddenUser(sender_user_name=name):
            return name
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            return chat.title or ""
    return ""


def _kind_of(message: Message) -> str:
    """Return what stands above a caption; empty for a message of text."""
    kinds = ("video", "animation", "paid_media")
    return next((kind for kind in kinds if getattr(message, kind)), "") if message.caption else ""
