"""A small bot of the public framework aiogram, run against a server to see whether the server is as the framework expects.

It echoes texts, asks with two buttons, counts the bytes of files, and says by which of the framework's errors odd requests
are refused.
"""

import asyncio
import sys

from aiogram import Bot, Dispatcher, F
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError, TelegramRetryAfter
from aiogram.filters import Command
from aiogram.types import BotCommand, BufferedInputFile, InlineKeyboardButton, InlineKeyboardMarkup

dispatcher = Dispatcher()


@dispatcher.message(Command("ask"))
async def ask(message):
    keys = [InlineKeyboardButton(text=word, callback_data=f"data-{word}") for word in ("yes", "no")]
    await message.answer("Shall I?", reply_markup=InlineKeyboardMarkup(inline_keyboard=[keys]))


@dispatcher.callback_query()
async def pressed(query):
    await query.answer(f"heard {query.data}")
    await query.message.edit_text(f"You said {query.data}", reply_markup=None)


@dispatcher.message(Command("odd"))
async def odd(message, bot):
    said = []
    tries = {
        "long": lambda: message.answer("x" * 4097),
        "empty": lambda: message.answer("   "),
        "markup": lambda: message.answer("<b>open", parse_mode="HTML"),
        "tag": lambda: message.answer("<marquee>a</marquee>", parse_mode="HTML"),
        "nowhere": lambda: bot.send_message(1, "hello"),
        "button": lambda: message.answer(
            "a",
            reply_markup=InlineKeyboardMarkup(
                inline_keyboard=[[InlineKeyboardButton(text="a", callback_data="x" * 65)]]
            ),
        ),
        "press": lambda: bot.answer_callback_query("never-there"),
        "file": lambda: bot.get_file("never-there"),
        "commands": lambda: bot.set_my_commands([BotCommand(command="Odd Name", description="x")]),
    }
    for name, trial in tries.items():
        try:
            await trial()
            said.append(f"{name}: taken")
        except TelegramBadRequest as error:
            said.append(f"{name}: {error.message.removeprefix('Bad Request: ')}")
    same = await message.answer("the same")
    try:
        await same.edit_text("the same")
    except TelegramBadRequest as error:
        said.append(f"same: {error.message.split(':')[1].strip()}")
    await same.delete()
    for wanted in (TelegramRetryAfter, TelegramForbiddenError):
        try:
            await message.answer("refused")
        except wanted as error:
            said.append(f"{wanted.__name__} {getattr(error, 'retry_after', '')}".strip())
    await bot.set_my_commands([BotCommand(command="ask", description="Asks")])
    await message.answer("\n".join(said))


@dispatcher.message(F.document)
async def document(message, bot):
    file = await bot.get_file(message.document.file_id)
    content = await bot.download_file(file.file_path)
    counted = BufferedInputFile(f"{len(content.read())} bytes".encode(), filename="count.txt")
    await message.answer_document(counted, caption=message.caption)


@dispatcher.message()
async def echo(message):
    await message.answer(f"<i>{message.text}</i>", parse_mode="HTML")


async def main():
    url, token = sys.argv[1:]
    session = AiohttpSession(api=TelegramAPIServer.from_base(url))
    bot = Bot(token, session=session)
    me = await bot.get_me()
    print(f"I am {me.username}", flush=True)
    await dispatcher.start_polling(bot, polling_timeout=5, handle_signals=False)


asyncio.run(main())
