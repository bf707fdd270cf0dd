import { AppError, type Attachment, agentLimits } from '@palaver/contract';
import { envList } from '@palaver/service-kit';
import { z } from 'zod';
import { agentConfigSchema } from '../../../config.ts';
import type { PendingSend } from '../../middleware.ts';
import { defineOraclePlugin, type OraclePlugin } from '../../plugin.ts';
import { UnreachableError } from './guarded-get.ts';
import { fetchAttachment, type MatrixMediaOptions } from './matrix-media.ts';
import { fitsDeclared, readFileKind } from './read-file-kind.ts';
import { readPdf } from './read-pdf.ts';

const configSchema = z.object({
  MATRIX_ALLOWED_HOSTS: envList().prefault('').meta({
    description: 'Matrix homeservers that may have a private address or no TLS, separated by commas.',
    example: 'matrix.internal,127.0.0.1:8008',
  }),
  LLM_CONTEXT_TOKENS: agentConfigSchema.shape.LLM_CONTEXT_TOKENS,
  DNS_SERVERS: agentConfigSchema.shape.DNS_SERVERS,
});

type AttachmentsConfig = z.infer<typeof configSchema>;

const timeoutMs = 30_000;
/** Half the context at about four characters a token: the other half is for the conversation. */
const charactersPerContextToken = 2;

/** Files from the user's Matrix homeserver, fetched and checked before the model runs. */
export function createAttachmentsPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'attachments',
    version: '1.0.0',
    manifest: {
      title: 'Attachments',
      summary: 'Reads the files that come with a message: text, PDF and images.',
      whenToUse: [],
      category: 'core',
      visibility: 'silent',
      stability: 'stable',
    },
    // Who may not send is refused before anything is fetched for them.
    softDependsOn: ['credits'],
    configSchema,
    getMiddlewares: ({ config, logger }) => [
      {
        async beforeSend(send) {
          try {
            await loadAttachments(send, config);
          } catch (error) {
            // The sentence names the user's file; what operators need is the cause.
            const cause = error instanceof AppError && error.cause;
            if (cause) logger.warn({ err: cause, requestId: send.requestId }, 'an attachment could not be fetched');
            throw error;
          }
        },
      },
    ],
  });
}

async function loadAttachments(
  { message, secrets, blobs }: PendingSend,
  { MATRIX_ALLOWED_HOSTS: allowedHosts, DNS_SERVERS: dnsServers, LLM_CONTEXT_TOKENS: contextTokens }: AttachmentsConfig,
): Promise<void> {
  const { attachments = [], metadata = {} } = message;
  if (attachments.length === 0) return;
  const stop = new AbortController();
  const common = {
    homeserver: toHomeserver(secrets.matrixHomeserver),
    token: secrets.matrixAccessToken,
    roomId: [metadata.roomId, metadata.editorRoomId].find((id) => typeof id === 'string'),
    allowedHosts,
    dnsServers,
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(timeoutMs)]),
  };
  const allowance = createAllowance();
  try {
    const files = await Promise.all(
      attachments.map(async (attachment) => ({
        attachment,
        bytes: await download(attachment, { ...common, onBytes: allowance(attachment) }),
      })),
    );
    let charactersLeft = contextTokens * charactersPerContextToken;
    for (const { attachment, bytes } of files) {
      const { content, mediaType } = await readFile(attachment, bytes, charactersLeft);
      if (typeof content === 'string') charactersLeft -= content.length;
      blobs.put(toUniqueName(attachment.filename, blobs.list()), Buffer.from(content), mediaType);
    }
  } finally {
    stop.abort();
  }
}

function toHomeserver(homeserver: string | undefined): URL {
  if (homeserver === undefined)
    throw failed('Attachments need a Matrix homeserver: send homeServer or x-matrix-homeserver.');
  const text = /^https?:\/\//i.test(homeserver) ? homeserver : `https://${homeserver}`;
  if (!URL.canParse(text)) throw failed('The Matrix homeserver is not a URL.');
  return new URL(text);
}

/** Counts what arrives: each file alone and all together. */
function createAllowance(): (attachment: Attachment) => (count: number) => void {
  let total = 0;
  return ({ filename }) => {
    let own = 0;
    return (count) => {
      own += count;
      total += count;
      if (own > agentLimits.attachmentBytes) throw failed(`${filename} is larger than 25 MB.`, filename);
      if (total > agentLimits.attachmentsBytes) throw failed('The attachments together are larger than 50 MB.');
    };
  };
}

async function download(attachment: Attachment, options: MatrixMediaOptions): Promise<Buffer> {
  const { filename } = attachment;
  try {
    return await fetchAttachment(attachment, options);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const why = error instanceof UnreachableError ? error.message : 'the homeserver could not be reached';
    const reason = options.signal.aborted ? 'the homeserver did not answer in time' : why;
    throw failed(`${filename} could not be fetched: ${reason}.`, filename, error);
  }
}

/** What the model gets of a file: its text, or the image itself. */
async function readFile(
  { filename, mimetype }: Attachment,
  bytes: Buffer,
  maxCharacters: number,
): Promise<{ content: Buffer | string; mediaType: string }> {
  const file = readFileKind(bytes);
  if (!file) throw failed(`${filename} is not a text, a PDF or an image (PNG, JPEG, GIF, WebP).`, filename);
  if (!fitsDeclared(mimetype, file.kind)) throw failed(`${filename} is not what its type ${mimetype} says.`, filename);
  if (file.kind === 'image') return { content: bytes, mediaType: file.mediaType };
  const text = file.kind === 'text' ? file.text : await readPdf(bytes);
  if (text === undefined) throw failed(`${filename} is a PDF that cannot be read.`, filename);
  if (text.trim() === '') throw failed(`${filename} has no text in it.`, filename);
  return { content: cut(text, maxCharacters), mediaType: 'text/plain' };
}

function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const shown = Math.max(maxCharacters, 0);
  return `${text.slice(0, shown)}\n[Only the first ${shown} of ${text.length} characters are shown.]`;
}

function toUniqueName(filename: string, taken: string[]): string {
  let name = filename;
  for (let number = 2; taken.includes(name); number += 1) name = `${filename} (${number})`;
  return name;
}

function failed(message: string, filename?: string, cause?: unknown): AppError {
  return new AppError('ATTACHMENT_FAILED', message, { cause, ...(filename && { details: { filename } }) });
}
