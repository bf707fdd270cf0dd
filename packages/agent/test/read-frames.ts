import { sseEventSchema } from '@palaver/contract';
import type { TestUser } from './test-agent.ts';

export interface Frame {
  id: number;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect.
  data: any;
}

// To the letter of the contract: three lines in this order, one of data.
const framePattern = /^event: ([a-z_]+)\nid: ([1-9]\d*)\ndata: (\{.*\})$/;

/** Reads a stream frame by frame; whatever is not a frame or a comment is an error, and so is data off the schema. */
export async function* readFrames(response: Response): AsyncGenerator<Frame, void> {
  if (!response.body) throw new Error('no body');
  let rest = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    rest += chunk;
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (!block.startsWith(':')) yield toFrame(block);
    }
  }
  if (rest !== '') throw new Error(`the stream ended in the middle of a frame: ${rest}`);
}

export async function collectFrames(response: Response): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of readFrames(response)) frames.push(frame);
  return frames;
}

/** The text of a stream as far as it has come, and whole once it has ended. */
export function collectText(response: Response): { readonly text: string; whole: Promise<string> } {
  const collected = { text: '', whole: read() };
  async function read(): Promise<string> {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) collected.text += chunk;
    return collected.text;
  }
  return collected;
}

/** A whole turn, from its send to its last frame. */
export async function streamTurn(user: TestUser, sessionId: string, message: string, more = {}): Promise<Frame[]> {
  const response = await user.stream(sessionId, message, more);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return collectFrames(response);
}

/** Reads on until a frame of that name has come, and gives all read so far. */
export async function readUntil(frames: AsyncGenerator<Frame, void>, event: string): Promise<Frame[]> {
  const read: Frame[] = [];
  for (;;) {
    const { value, done } = await frames.next();
    if (done || !value) throw new Error(`the stream ended before ${event}: ${JSON.stringify(read)}`);
    read.push(value);
    if (value.event === event) return read;
  }
}

/** The data of the first frame of that name. */
export function findData(frames: Frame[], event: string): Frame['data'] {
  return frames.find((frame) => frame.event === event)?.data;
}

export function textOf(frames: Frame[]): string {
  return frames
    .filter(({ event }) => event === 'message')
    .map(({ data }) => data.content)
    .join('');
}

function toFrame(block: string): Frame {
  const [, event, id, json] = framePattern.exec(block) ?? [];
  if (event === undefined || json === undefined) throw new Error(`not a frame: ${JSON.stringify(block)}`);
  const data = JSON.parse(json);
  sseEventSchema.parse({ name: event, data });
  return { id: Number(id), event, data };
}
