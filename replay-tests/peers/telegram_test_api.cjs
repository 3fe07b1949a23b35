// A person with an account at the public mock `telegram-test-api`, led line by line: JSON on stdin says what they do, JSON on
// stdout says what came of it. The first line is the mock's address. What it does with a message is the mock's own code.
'use strict';
const net = require('net');
const readline = require('readline');
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
  const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
  say({ url: server.config.apiURL });
  const client = server.getClient(token, { userId: person, chatId: person, timeout: 60000 });
  const italian = { from: { language_code: 'it' } };
  const acts = {
    says: ({ text }) =>
      text.startsWith('/')
        ? client.sendCommand(client.makeCommand(text, italian))
        : client.sendMessage(client.makeMessage(text, italian)),
    presses: ({ data, message }) =>
      client.sendCallback(client.makeCallbackQuery(data, { message: { message_id: message }, ...italian })),
    hears: () => client.getUpdates(),
    // How the mock answers a bot that asks for this method.
    answers: async ({ method }) => {
      const answer = await fetch(`${server.config.apiURL}/bot${token}/${method}`, { method: 'POST' });
      return { status: answer.status, body: await answer.text() };
    },
  };
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    say(await acts[asked.act](asked));
  }
  await server.stop();
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
