// A conversation with a bot over the public mock `telegram-test-api`, as its own client has it. Prints the mock's address,
// talks, and ends with 0 when everything was said as it should be.
'use strict';
const net = require('net');
const TelegramServer = require(`${process.argv[2]}/telegram-test-api`);
const [token, person] = [process.argv[3], Number(process.argv[4])];

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function main() {
  const server = new TelegramServer({ port: await freePort(), host: '127.0.0.1' });
  await server.start();
  console.log(server.config.apiURL);
  const client = server.getClient(token, { userId: person, chatId: person, timeout: 60000 });
  const said = [];
  const until = async (what, fits) => {
    for (let tries = 0; tries < 50; tries += 1) {
      const found = said.find(fits);
      if (found) {
        said.splice(said.indexOf(found), 1);
        return found;
      }
      const { result } = await client.getUpdates();
      said.push(...result);
    }
    throw new Error(`${what} is not said: ${JSON.stringify(said)}`);
  };
  const holds = (text) => (update) => String(update.message.text).includes(text);
  const says = (text) => client.sendMessage(client.makeMessage(text));

  await client.sendCommand(client.makeCommand('/start'));
  await until('the welcome', holds('Eccomi'));
  await says('leggi il file spesa.txt e dimmi le ultime due righe');
  await until('the lines', holds('uova\nmele'));
  await says('cancella il file spesa.txt');
  const asked = await until('the question', (update) => update.message.reply_markup);
  const [yes] = asked.message.reply_markup.inline_keyboard[0];
  const press = client.makeCallbackQuery(yes.callback_data, { message: { message_id: asked.messageId } });
  await client.sendCallback(press);
  await until('the end', holds('nel cestino (21 byte)'));
  await client.sendCommand(client.makeCommand('/annulla'));
  const undo = await until('the question', (update) => update.message.reply_markup);
  const [again] = undo.message.reply_markup.inline_keyboard[0];
  await client.sendCallback(client.makeCallbackQuery(again.callback_data, { message: { message_id: undo.messageId } }));
  await until('the undo', holds('spesa.txt'));
  await server.stop();
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
