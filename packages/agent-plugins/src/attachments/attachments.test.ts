import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPdf, type Homeserver, startHomeserver, matrixToken as token } from '../../../agent/test/homeserver.ts';
import { type OpenAiServer, say, startOpenAiServer } from '../../../agent/test/openai-server.ts';
import { startTestAgent, type TestAgent } from '../../../agent/test/test-agent.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let home: Homeserver;
let model: OpenAiServer;
let agent: TestAgent;

beforeAll(async () => {
  home = await startHomeserver();
  model = await startOpenAiServer(say('Seen.'));
  agent = await startTestAgent({ env: { LLM_BASE_URL: model.url, MATRIX_ALLOWED_HOSTS: home.host } });
});

afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await home.close();
});

interface Sent {
  attachments: object[];
  metadata?: object;
  session?: object;
  homeServer?: string | undefined;
  accessToken?: string | undefined;
}

/** Sends a message with attachments; gives the reply and the parts of the question the model was asked. */
async function send({ attachments, metadata, session, homeServer = home.url, accessToken = token }: Sent) {
  home.seen.length = 0;
  model.requests.length = 0;
  const user = await agent.createUser();
  const { sessionId, roomId: sessionRoom } = (await user.send('POST', '/sessions', session)).body;
  const reply = await user.send(
    'POST',
    `/messages/${sessionId}`,
    { message: 'what is this?', attachments, metadata, homeServer },
    { 'x-matrix-access-token': accessToken },
  );
  return {
    ...reply,
    sessionRoom,
    asked: model.requests[0]?.body.messages.at(-1).content,
    modelCalls: model.requests.length,
  };
}

function offer(id: string, bytes: Buffer | string): string {
  home.media.set(id, Buffer.from(bytes));
  return `mxc://home.example/${id}`;
}

const attach = (mxcUri: string, filename: string, mimetype: string) => ({ mxcUri, filename, mimetype });

describe('what reaches the model', () => {
  it('a text', async () => {
    const { status, asked } = await send({
      attachments: [attach(offer('notes', 'Mangoes: 3 €\n'), 'notes.txt', 'text/plain')],
    });
    expect(status).toBe(200);
    expect(JSON.stringify(asked)).toContain('[File notes.txt]\\nMangoes: 3 €');
    expect(home.seen).toEqual([
      { path: '/_matrix/client/v1/media/download/home.example/notes', authorization: `Bearer ${token}` },
    ]);
  });

  it('the text of a PDF', async () => {
    const { asked } = await send({
      attachments: [attach(offer('report', createPdf('Harvest report 2026')), 'report.pdf', 'application/pdf')],
    });
    expect(JSON.stringify(asked)).toContain('Harvest report 2026');
  });

  it('an image, by the type it really has and with its name', async () => {
    const { asked } = await send({ attachments: [attach(offer('photo', png), 'photo.jpg', 'image/jpeg')] });
    expect(JSON.stringify(asked)).toContain('[File photo.jpg]');
    expect(asked).toContainEqual({
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${png.toString('base64')}` },
    });
  });

  it('several at once, of the same name too, and the message keeps them', async () => {
    const { asked, body } = await send({
      attachments: [
        attach(offer('one', 'first'), 'a.txt', 'text/plain'),
        attach(offer('two', '{"second":2}'), 'a.txt', 'application/json'),
      ],
    });
    expect(JSON.stringify(asked)).toMatch(/\[File a\.txt\]\\nfirst.*\[File a\.txt \(2\)\]\\n\{.*second/);
    expect(body.message.content).toBe('Seen.');
  });

  it('as much of a long text as fits, and the model learns of it', async () => {
    const { asked } = await send({ attachments: [attach(offer('long', 'x'.repeat(300_000)), 'l.txt', 'text/plain')] });
    expect(JSON.stringify(asked)).toContain('[Only the first 200000 of 300000 characters are shown.]');
  });
});

describe('where it comes from', () => {
  it('a homeserver that has only the old endpoint', async () => {
    home.modern = false;
    const { status } = await send({ attachments: [attach(offer('old', 'old'), 'o.txt', 'text/plain')] });
    home.modern = true;
    expect(status).toBe(200);
    expect(home.seen.map(({ path }) => path)).toEqual([
      '/_matrix/client/v1/media/download/home.example/old',
      '/_matrix/media/v3/download/home.example/old',
    ]);
  });

  it('an event of the room that metadata names', async () => {
    home.events.set('$e1', { type: 'm.room.message', content: { url: offer('evented', 'by event') } });
    const attachments = [{ eventId: '$e1', filename: 'e.txt', mimetype: 'text/plain' }];
    for (const metadata of [{ roomId: '!room:home.example' }, { editorRoomId: '!room:home.example' }]) {
      expect(JSON.stringify((await send({ attachments, metadata })).asked)).toContain('by event');
    }
    const nowhere = await send({ attachments });
    expect(nowhere).toMatchObject({ status: 422, body: { code: 'ATTACHMENT_FAILED' } });
    expect(nowhere.body.message).toContain('metadata.roomId');
  });

  it('an event of the room that the session has', async () => {
    home.events.set('$e9', { type: 'm.room.message', content: { url: offer('sessioned', 'by session') } });
    const attachments = [{ eventId: '$e9', filename: 'e.txt', mimetype: 'text/plain' }];
    for (const key of ['roomId', 'editorRoomId']) {
      const { asked } = await send({ attachments, session: { metadata: { [key]: '!room:home.example' } } });
      expect(JSON.stringify(asked)).toContain('by session');
    }
    // What the message names wins.
    const both = {
      session: { metadata: { roomId: '!room:home.example' } },
      metadata: { roomId: '!other:home.example' },
    };
    expect((await send({ attachments, ...both })).status).toBe(422);
    // The room of the pair of user and agent, where the homeserver has it.
    home.anyRoom = true;
    const { asked, sessionRoom } = await send({ attachments });
    home.anyRoom = false;
    expect(JSON.stringify(asked)).toContain('by session');
    expect(home.seen[0]?.path).toContain(`/rooms/${sessionRoom}/event/`);
  });

  /** A text as an encrypted room holds it: the sealed bytes are on the homeserver, the key is in `file`. */
  function seal(id: string, text: string) {
    const key = randomBytes(32);
    const iv = Buffer.concat([randomBytes(8), Buffer.alloc(8)]);
    const cipher = createCipheriv('aes-256-ctr', key, iv);
    const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
    const toBase64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
    const file = {
      url: offer(id, sealed),
      key: { kty: 'oct', alg: 'A256CTR', k: key.toString('base64url'), ext: true, key_ops: ['encrypt', 'decrypt'] },
      iv: toBase64(iv),
      hashes: { sha256: toBase64(createHash('sha256').update(sealed).digest()) },
      v: 'v2',
    };
    return { file, sealed };
  }

  it('an encrypted file, whose key is in the event', async () => {
    const { file, sealed } = seal('sealed', 'a secret text');
    home.events.set('$e2', { type: 'm.room.message', content: { msgtype: 'm.file', file } });
    const metadata = { roomId: '!room:home.example' };
    const attachments = [{ eventId: '$e2', mxcUri: file.url, filename: 's.txt', mimetype: 'text/plain' }];
    expect(JSON.stringify((await send({ attachments, metadata })).asked)).toContain('a secret text');
    sealed.writeUInt8(sealed.readUInt8(0) ^ 1);
    offer('sealed', sealed);
    const changed = await send({ attachments, metadata });
    expect(changed.body.message).toContain('changed on the way');
  });

  it('an encrypted file, whose key comes with the message and is not kept', async () => {
    const { file } = seal('sealed2', 'a secret text');
    home.events.set('$e3', { type: 'm.room.encrypted', content: { algorithm: 'm.megolm.v1.aes-sha2' } });
    const metadata = { roomId: '!room:home.example' };
    const attachments = [{ eventId: '$e3', file, filename: 's.txt', mimetype: 'text/plain' }];
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    model.requests.length = 0;
    const { status } = await user.send(
      'POST',
      `/messages/${sessionId}`,
      { message: 'what is this?', attachments, metadata, homeServer: home.url },
      { 'x-matrix-access-token': token },
    );
    expect(status).toBe(200);
    expect(JSON.stringify(model.requests[0]?.body)).toContain('a secret text');
    const [question] = await user.messages(sessionId);
    expect(question.attachments).toEqual([
      { mxcUri: file.url, eventId: '$e3', filename: 's.txt', mimetype: 'text/plain' },
    ]);
    expect(agent.log()).not.toContain(file.key.k);
    const withoutKey = await send({ attachments: [{ ...attachments[0], file: undefined }], metadata });
    expect(withoutKey.body.message).toContain('send its `file`');
  });

  it('a homeserver below a path', async () => {
    offer('deep', 'deep');
    home.handle = (request, response) => {
      const isBelow = request.url === '/matrix/_matrix/client/v1/media/download/home.example/deep';
      return Boolean(response.writeHead(isBelow ? 200 : 404).end('found below a path'));
    };
    for (const homeServer of [`${home.url}/matrix`, `${home.url}/matrix/`]) {
      const attachments = [attach('mxc://home.example/deep', 'd.txt', 'text/plain')];
      expect((await send({ attachments, homeServer })).status).toBe(200);
    }
    home.handle = undefined;
  });

  it.each(['text/plain;charset=utf-8', 'text/plain; charset="utf-8"', ''])('a type of "%s"', async (mimetype) => {
    const { status, asked } = await send({ attachments: [attach(offer('typed', 'typed'), 't.txt', mimetype)] });
    expect(status).toBe(200);
    expect(JSON.stringify(asked)).toContain('typed');
  });
});

describe('is a 422 before the model runs:', () => {
  const refused = async (sent: Sent, message: string | RegExp) => {
    const reply = await send(sent);
    expect(reply).toMatchObject({ status: 422, body: { statusCode: 422, code: 'ATTACHMENT_FAILED' }, modelCalls: 0 });
    expect(reply.body.message).toMatch(message);
    expect(JSON.stringify(reply.body)).not.toContain(token);
  };

  it.each<[string, Buffer | string, string, RegExp]>([
    ['a program', Buffer.from('7f454c4602010100', 'hex'), 'application/octet-stream', /not a text, a PDF or an image/],
    ['a page that calls itself an image', '<html></html>', 'image/png', /does not match its type/],
    ['an image that calls itself a text', png, 'text/plain', /does not match its type/],
    ['a broken PDF', '%PDF-1.4 oh no', 'application/pdf', /PDF that cannot be read/],
    ['an empty file', '', 'text/plain', /no text/],
    ['a PDF without text', createPdf(''), 'application/pdf', /no text/],
  ])('%s', async (_what, bytes, mimetype, message) => {
    await refused({ attachments: [attach(offer('bad', bytes), 'bad', mimetype)] }, message);
  });

  it('a file that is not there', async () => {
    await refused({ attachments: [attach('mxc://home.example/gone', 'g', 'text/plain')] }, /does not have it/);
  });

  it('a token the homeserver does not take', async () => {
    const attachments = [attach(offer('t', 't'), 't', 'text/plain')];
    await refused({ attachments, accessToken: 'wrong' }, /access token is not valid or has expired/);
  });

  it('no token at a homeserver that asks for one and no longer has the old endpoint', async () => {
    home.handle = ({ url = '', headers }, response) => {
      if (url.startsWith('/_matrix/media')) return Boolean(response.writeHead(404).end('{"errcode":"M_NOT_FOUND"}'));
      const isMissing = headers.authorization === undefined;
      return isMissing && Boolean(response.writeHead(401).end('{"errcode":"M_MISSING_TOKEN"}'));
    };
    const attachments = [attach(offer('t', 't'), 't', 'text/plain')];
    await refused({ attachments, accessToken: '' }, /send x-matrix-access-token/);
    home.handle = undefined;
  });

  it('a token that an old homeserver no longer takes', async () => {
    home.handle = (_request, response) => Boolean(response.writeHead(404).end('{"errcode":"M_UNKNOWN_TOKEN"}'));
    await refused({ attachments: [attach(offer('t', 't'), 't', 'text/plain')] }, /access token is not valid/);
    home.handle = undefined;
  });

  it('and the log says why', async () => {
    const address = 'http://127.0.0.1:9';
    const alone = await startTestAgent({ env: { LLM_BASE_URL: model.url, MATRIX_ALLOWED_HOSTS: '127.0.0.1:9' } });
    try {
      const user = await alone.createUser();
      const reply = await user.send('POST', `/messages/${await user.createSession()}`, {
        message: 'x',
        attachments: [attach(offer('t', 't'), 'private-name.txt', 'text/plain')],
        homeServer: address,
      });
      expect(reply.status).toBe(422);
      expect(alone.log()).toContain('ECONNREFUSED');
      expect(alone.log()).toContain(reply.headers.get('x-request-id'));
      expect(alone.log()).not.toContain('private-name');
    } finally {
      await alone[Symbol.asyncDispose]();
    }
  });

  it('no homeserver', async () => {
    const user = await agent.createUser();
    const body = { message: 'x', attachments: [attach(offer('t', 't'), 't', 'text/plain')] };
    const reply = await user.send('POST', `/messages/${await user.createSession()}`, body);
    expect(reply).toMatchObject({ status: 422, body: { code: 'ATTACHMENT_FAILED' } });
  });

  it('one of several that fails', async () => {
    const good = attach(offer('good', 'good'), 'good', 'text/plain');
    await refused({ attachments: [good, attach('mxc://home.example/gone', 'g', 'text/plain')] }, /^g could not/);
  });

  it.each([
    ['http://127.0.0.1:9', /only https/],
    ['https://127.0.0.1:9', /private addresses/],
    ['https://[::1]:9', /private addresses/],
    ['https://169.254.169.254', /private addresses/],
    ['https://localhost:9', /could not be reached/],
    ['localhost:9', /could not be reached/],
    ['file:///etc/passwd', /could not be reached|not a URL/],
  ])('a homeserver at %s', async (homeServer, message) => {
    await refused({ attachments: [attach(offer('t', 't'), 't', 'text/plain')], homeServer }, message);
  });

  it('a redirect to a private address', async () => {
    home.handle = (_request, response) => Boolean(response.writeHead(302, { location: 'https://10.0.0.1/x' }).end());
    await refused({ attachments: [attach(offer('t', 't'), 't', 'text/plain')] }, /private addresses/);
    home.handle = undefined;
  });

  it('a file over 25 MB, and its connection is closed', async () => {
    const closed = Promise.withResolvers<void>();
    home.handle = (_request, response) => {
      response.on('close', () => closed.resolve());
      const chunk = Buffer.alloc(1_000_000, 'x');
      const push = () => {
        while (!response.closed && response.write(chunk));
        if (!response.closed) response.once('drain', push);
      };
      push();
      return true;
    };
    await refused({ attachments: [attach('mxc://home.example/big', 'big.txt', 'text/plain')] }, /larger than 25 MB/);
    await closed.promise;
    home.handle = undefined;
  });

  it('files over 50 MB together', async () => {
    const uri = offer('large', Buffer.alloc(20_000_000, 'x'));
    const attachments = ['a', 'b', 'c'].map((name) => attach(uri, name, 'text/plain'));
    await refused({ attachments }, /together are larger than 50 MB/);
  });
});

it('files are downloaded for one message of a user at a time, and only so many wait', async () => {
  const held: ServerResponse[] = [];
  home.handle = (_request, response) => held.push(response) > 0;
  const user = await agent.createUser();
  const sessions = await Promise.all(Array.from({ length: 22 }, () => user.createSession()));
  const attachments = [attach('mxc://home.example/held', 'notes.txt', 'text/plain')];
  const sends = sessions.map((sessionId) =>
    user.say(sessionId, 'what is this?', { attachments, homeServer: home.url }),
  );
  const refused = { status: 422, body: { message: expect.stringContaining('too many are waiting') } };
  expect(await Promise.race(sends)).toMatchObject(refused);
  await waitFor('the download', () => held.length > 0);
  expect(held).toHaveLength(1);
  home.handle = (_request, response) => Boolean(response.writeHead(200).end('Mangoes'));
  held[0]?.writeHead(200).end('Mangoes');
  const statuses = (await Promise.all(sends)).map(({ status }) => status);
  expect(statuses.sort()).toEqual([...Array(21).fill(200), 422]);
  home.handle = undefined;
});
