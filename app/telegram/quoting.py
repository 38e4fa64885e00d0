"""What a Telegram message refers to: what it answers or quotes, who wrote what is forwarded, a caption's media."""

from telegram import (
    Message,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    User,
)

from agents.person import Quoted, QuotedKind
from app.telegram.files import attached_to, shown_in

LONGEST = 1000
"""Characters of a text that is referred to."""


def quoted_in(message: Message, bot: User) -> list[Quoted]:
    """Return what a message refers to, for a model to be told as data."""
    quoted: list[Quoted] = []
    if origin := message.forward_origin:
        quoted.append(Quoted(kind="forward", by=_author(origin), text="", foreign=True))
    attached = list(attached_to(message))
    quoted += attached
    if not attached and (attachment := _kind_of(message)):
        quoted.append(Quoted(kind="caption", by="", text=attachment, foreign=False))
    answered, part = message.reply_to_message, message.quote
    text = part.text if part else (answered.text or answered.caption or "") if answered else ""
    if text:
        writer = answered.from_user if answered else None
        is_bots, is_own = writer == bot, writer is not None and writer == message.from_user
        kind: QuotedKind = "answer_to_assistant" if is_bots else "answer_to_own" if is_own else "answer"
        by = writer.full_name if writer and kind == "answer" else ""
        quoted.append(Quoted(kind=kind, by=by, text=text[:LONGEST], foreign=kind == "answer"))
    if answered and not attached:
        quoted += shown_in(answered)
    return quoted


def _author(origin: object) -> str:
    """Return who wrote what is forwarded, as far as Telegram says."""
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
    kinds = ("video", "animation", "video_note", "paid_media")
    return next((kind for kind in kinds if getattr(message, kind)), "") if message.caption else ""
