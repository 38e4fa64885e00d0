"""What an update is known by when Telegram brings it again; the numbers of updates begin anew at times."""

from telegram import Message, Update


def key_of(update: Update) -> str:
    """Return what is the same whenever Telegram brings an update."""
    if query := update.callback_query:
        return f"tap {query.id}"
    if message := update.message:
        return key_of_message(message)
    if message := update.edited_message:
        # Two changes within a second have the same time.
        words = message.text or message.caption
        return f"edit {message.chat.id} {message.message_id} {message.edit_date} {words}"
    if reaction := update.message_reaction:
        who = reaction.user.id if reaction.user else 0
        signs = [kind.to_dict() for kind in reaction.new_reaction]
        return f"reaction {reaction.chat.id} {reaction.message_id} {who} {reaction.date} {signs}"
    if change := update.my_chat_member:
        return f"member {change.chat.id} {change.date} {change.old_chat_member.status} {change.new_chat_member.status}"
    return f"update {update.update_id}"


def key_of_message(message: Message) -> str:
    """Return what the update was known by that brought a message."""
    return f"message {message.chat.id} {message.message_id}"
