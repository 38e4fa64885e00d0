"""The part of the Bot API for the bot and its tests: fields and their types; "!" marks a required field."""

import re

TABLE = """
getMe(): User
getWebhookInfo(): WebhookInfo
deleteWebhook(drop_pending_updates: Boolean): Boolean
setWebhook(url!: String, certificate: InputFile, ip_address: String, max_connections: Integer, allowed_updates: Array
    of String, drop_pending_updates: Boolean, secret_token: String): Boolean
getMyDescription(language_code: String): BotDescription
setMyDescription(description: String, language_code: String): Boolean
getUpdates(offset: Integer, limit: Integer, timeout: Integer, allowed_updates: Array of String): Array of Update
setMyCommands(commands!: Array of BotCommand, scope: BotCommandScope, language_code: String): Boolean
sendChatAction(chat_id!: Integer|String, message_thread_id: Integer, action!: String): Boolean
sendMessage(chat_id!: Integer|String, message_thread_id: Integer, text!: String, entities: Array of MessageEntity,
    link_preview_options: LinkPreviewOptions, disable_notification: Boolean, reply_parameters: ReplyParameters,
    reply_markup: InlineKeyboardMarkup|ReplyKeyboardMarkup|ReplyKeyboardRemove|ForceReply): Message
sendMessageDraft(chat_id!: Integer, message_thread_id: Integer, draft_id!: Integer, text: String, entities: Array of
    MessageEntity, can_stop: Boolean, keep_on_stop: Boolean): Boolean
sendDocument(chat_id!: Integer|String, message_thread_id: Integer, document!: InputFile|String, caption: String,
    caption_entities: Array of MessageEntity, reply_parameters: ReplyParameters, reply_markup:
    InlineKeyboardMarkup|ReplyKeyboardMarkup|ReplyKeyboardRemove|ForceReply): Message
sendPhoto(chat_id!: Integer|String, message_thread_id: Integer, photo!: InputFile|String, caption: String,
    caption_entities: Array of MessageEntity, reply_parameters: ReplyParameters, reply_markup:
    InlineKeyboardMarkup|ReplyKeyboardMarkup|ReplyKeyboardRemove|ForceReply): Message
sendMediaGroup(chat_id!: Integer|String, message_thread_id: Integer, media!: Array of InputMediaAudio|Array of
    InputMediaDocument|Array of InputMediaLivePhoto|Array of InputMediaPhoto|Array of InputMediaVideo,
    reply_parameters: ReplyParameters): Array of Message
editMessageText(chat_id: Integer|String, message_id: Integer, text: String, entities: Array of MessageEntity,
    link_preview_options: LinkPreviewOptions, reply_markup: InlineKeyboardMarkup): Message|Boolean
editMessageReplyMarkup(chat_id: Integer|String, message_id: Integer, reply_markup: InlineKeyboardMarkup):
    Message|Boolean
deleteMessage(chat_id!: Integer|String, message_id!: Integer): Boolean
setMessageReaction(chat_id!: Integer|String, message_id!: Integer, reaction: Array of ReactionType, is_big: Boolean):
    Boolean
answerCallbackQuery(callback_query_id!: String, text: String, show_alert: Boolean): Boolean
getFile(file_id!: String): File
getChatMember(chat_id!: Integer|String, user_id!: Integer): ChatMember
getChatAdministrators(chat_id!: Integer|String): Array of ChatMember
leaveChat(chat_id!: Integer|String): Boolean
BotCommand(command!: String, description!: String)
LinkPreviewOptions(is_disabled: Boolean, url: String, prefer_small_media: Boolean, show_above_text: Boolean)
ReplyParameters(message_id!: Integer, allow_sending_without_reply: Boolean, quote: String)
InlineKeyboardMarkup(inline_keyboard!: Array of Array of InlineKeyboardButton)
InlineKeyboardButton(text!: String, callback_data: String, url: String, web_app: WebAppInfo, style: String)
ReplyKeyboardMarkup(keyboard!: Array of Array of KeyboardButton, resize_keyboard: Boolean, one_time_keyboard: Boolean)
KeyboardButton(text!: String, web_app: WebAppInfo, request_location: Boolean, request_contact: Boolean)
WebAppInfo(url!: String)
MessageEntity(type!: String, offset!: Integer, length!: Integer, url: String, user: User, language: String)
ReactionTypeEmoji(type!: String, emoji!: String)
File(file_id!: String, file_unique_id!: String, file_size: Integer, file_path: String)
BotDescription(description!: String)
WebhookInfo(url!: String, has_custom_certificate!: Boolean, pending_update_count!: Integer, allowed_updates: Array of
    String)
MessageGenerationStopped(chat!: Chat, draft_id!: Integer, message_thread_id: Integer)
TextQuote(text!: String, entities: Array of MessageEntity, position!: Integer, is_manual: Boolean)
User(id!: Integer, is_bot!: Boolean, first_name!: String, last_name: String, username: String, language_code: String,
    can_join_groups: Boolean, can_read_all_group_messages: Boolean, supports_inline_queries: Boolean,
    has_topics_enabled: Boolean)
Chat(id!: Integer, type!: String, title: String, username: String, first_name: String, last_name: String, is_forum:
    Boolean)
CallbackQuery(id!: String, from!: User, message: MaybeInaccessibleMessage, inline_message_id: String, chat_instance!:
    String, data: String, game_short_name: String)
MessageReactionUpdated(chat!: Chat, message_id!: Integer, user: User, actor_chat: Chat, date!: Integer, old_reaction!:
    Array of ReactionType, new_reaction!: Array of ReactionType)
ChatMemberUpdated(chat!: Chat, from!: User, date!: Integer, old_chat_member!: ChatMember, new_chat_member!:
    ChatMember, invite_link: ChatInviteLink, via_join_request: Boolean, via_chat_folder_invite_link: Boolean)
"""
"""A line for each method, with the type of its result, and for each type; a line that goes on is indented."""
_LINES = re.sub(r"\n +", " ", TABLE)
METHODS: dict[str, tuple[str, str]] = {
    name: (result, fields) for name, fields, result in re.findall(r"^(\w+)\((.*)\): (.+)$", _LINES, re.MULTILINE)
}
"""The result type and the parameters of each method, by name."""
TYPES: dict[str, str] = dict(re.findall(r"^(\w+)\((.*)\)$", _LINES, re.MULTILINE))
