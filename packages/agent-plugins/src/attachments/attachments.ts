import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  agentVariables,
  defineOraclePlugin,
  type OraclePlugin,
  type PendingSend,
  type PluginContext,
  tablesOf,
} from '@palaver/agent';
import { AppError, type Attachment, agentLimits } from '@palaver/contract';
import { envInteger, envList } from '@palaver/service-kit';
import { type ByteShare, createByteCounter, createFairQueue } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { createClientHash, toManifest } from '../plugin-parts.ts';
import { addFileRoutes, type FileRoutes } from './file-routes.ts';
import { createFolderStorage, createS3Storage, createStaging, envBucket } from './file-storage.ts';
import { createFileStore, type FileDatabase, fileMigrations, filesPersonalData } from './file-store.ts';
import { createFileVault, type FileVault } from './file-vault.ts';
import { fetchAttachment, type MatrixMediaOptions, UnreachableError } from './matrix-media.ts';
import { cut, failed, readContent } from './read-content.ts';

const configSchema = z.object({
  MATRIX_ALLOWED_HOSTS: envList().prefault('').meta({
    description: 'Matrix homeservers that may have a private address or no TLS, separated by commas.',
    example: 'matrix.internal,127.0.0.1:8008',
  }),
  FILES_S3_URL: envBucket().optional().meta({
    description:
      'Bucket of an S3-compatible service for files that users upload, with key and secret (percent-encoded). If not set, the folder `files` in DATA_DIR; several instances need a bucket or a shared folder.',
    example: 'https://KEY:SECRET@s3.eu-central-1.amazonaws.com/palaver-files?region=eu-central-1',
    secret: true,
  }),
  FILES_PER_USER_PER_DAY: envInteger({ min: 0, max: 1_000_000 })
    .prefault(String(agentLimits.filesPerDay))
    .meta({ description: 'Files that a user may upload in 24 hours; 0 for none.' }),
  FILES_BYTES_PER_USER_PER_DAY: envInteger({ min: 0, max: 1e15 })
    .prefault(String(agentLimits.fileBytesPerDay))
    .meta({ description: 'Bytes that a user may upload in 24 hours.' }),
  FILES_MIN_FREE_BYTES: envInteger({ min: 0, max: 1e15 })
    .prefault('500000000')
    .meta({ description: 'Bytes of the disk that uploads leave free; below that they are refused with 503.' }),
  RETENTION_FILES_DAYS: envInteger({ min: 0, max: 36_500 }).prefault('0').meta({
    description:
      'Days that uploaded files are kept; 0 keeps them as long as the session of their message. Files of no message are kept for a day.',
  }),
  DATA_DIR: agentVariables.DATA_DIR,
  LLM_CONTEXT_TOKENS: agentVariables.LLM_CONTEXT_TOKENS,
  DNS_SERVERS: agentVariables.DNS_SERVERS,
});

type AttachmentsConfig = z.infer<typeof configSchema>;

const timeoutMs = 30_000;
/** How many users' worth of bytes one client address may upload. */
const usersPerAddress = 4;
/** A short message can name 50 MB: they are read for one message of a user after the other. */
const readings = createFairQueue({ atOnce: 4, waiting: 200, waitingPerUser: 20 });
/** Downloads of whole messages: anyone's homeserver may take the full time for each. */
const downloads = createFairQueue({ atOnce: 8, waiting: 200, waitingPerUser: 20 });
/** Half the context at about four characters a token: the other half is for the conversation. */
const charactersPerContextToken = 2;

export function createAttachmentsPlugin(): OraclePlugin {
  let vault: FileVault;
  let hashClient: (client: string) => string;
  let clientOf: FileRoutes['clientOf'];

  return defineOraclePlugin({
    name: 'attachments',
    version: '1.1.0',
    manifest: toManifest('Attachments', 'Reads the files that come with a message: text, PDF and images.'),
    // Who may not send is refused before anything is fetched for them.
    softDependsOn: ['credits'],
    configSchema,
    tables: tablesOf<FileDatabase>(),
    migrations: fileMigrations,
    personalData: filesPersonalData,
    setup(ctx) {
      hashClient = createClientHash(ctx.deriveKey);
      clientOf = (request) => {
        const client = ctx.clientKey(request);
        return client && hashClient(client);
      };
      vault = openVault(ctx);
      vault.start();
    },
    teardown: () => vault?.stop(),
    async keepFile({ filename, mediaType: declared, bytes }, { userDid, client }) {
      const by = { userDid, client: client && hashClient(client) };
      const body = Readable.from([bytes]);
      const file = vault.upload({ ...by, filename, declared, body, length: bytes.length });
      const { fileId, mimetype } = await file.catch((error) => {
        // An attachment of a message is refused in one way, whatever is wrong with it.
        const isBad = error instanceof AppError && error.statusCode < 429;
        throw isBad ? failed(`${filename}: ${error.message}`, filename) : error;
      });
      return { fileId, filename, mimetype };
    },
    getRoutes: () => (server) => addFileRoutes(server, { vault, clientOf }),
    getMiddlewares: ({ config, logger, sessions }) => [
      {
        async beforeSend(send) {
          try {
            await openAttachments(send, { config, vault, sessions })?.();
          } catch (error) {
            // The sentence names the user's file; what operators need is the cause.
            const cause = error instanceof AppError && error.cause;
            if (cause) logger.warn({ err: cause, requestId: send.requestId }, 'an attachment could not be fetched');
            throw error;
          }
        },
        beforeResume(send) {
          openAttachments(send, { config, vault, sessions });
        },
      },
    ],
  });
}

function openVault({ store, config, logger, audit }: PluginContext<AttachmentsConfig, FileDatabase>): FileVault {
  const { FILES_S3_URL: bucket } = config;
  const folder = bucket ? join(tmpdir(), 'palaver-files') : join(resolve(config.DATA_DIR), 'files');
  const { FILES_PER_USER_PER_DAY: filesPerDay, FILES_BYTES_PER_USER_PER_DAY: bytesPerDay } = config;
  const limits = { filesPerDay, bytesPerDay, bytesPerClientPerDay: bytesPerDay * usersPerAddress };
  return createFileVault({
    files: createFileStore(store, { limits, referenceOf: audit.person }),
    storage: bucket ? createS3Storage(bucket) : createFolderStorage(folder),
    staging: createStaging(folder),
    rules: { retentionDays: config.RETENTION_FILES_DAYS },
    minFreeBytes: config.FILES_MIN_FREE_BYTES,
    logger,
  });
}

/** Without the message itself, which must not stay in memory while its files are read again later. */
type Sent = Omit<PendingSend, 'message'> & Pick<PendingSend['message'], 'metadata'>;

/** Registers how the files of a message are read again, and returns what reads them now. */
function openAttachments({ message, ...sent }: PendingSend, parts: Omit<FetchParts, 'attachments' | 'share'>) {
  const { attachments = [], metadata } = message;
  const send: Sent = { ...sent, metadata };
  const { blobs } = send;
  if (attachments.length === 0) return undefined;
  requireDistinct(attachments);
  const share = fileBytes(send.userDid);
  const before = new Set(blobs.list());
  const names = new Set<string>();
  const isStored = attachments.every(isUploaded);
  const load = async () => {
    const fetchAll = () => fetchFiles(send, { attachments, share, ...parts });
    const files = isStored ? await fetchAll() : await downloads.run(send, fetchAll);
    if (!files)
      throw failed('The attachments were not fetched: too many are waiting. Send the message again in a moment.');
    let charactersLeft = parts.config.LLM_CONTEXT_TOKENS * charactersPerContextToken;
    names.clear();
    for (const { attachment, bytes } of files) {
      const { content: whole, mediaType } = await readContent(attachment, bytes, send);
      const content = typeof whole === 'string' ? cut(whole, charactersLeft) : whole;
      if (typeof content === 'string') charactersLeft -= content.length;
      const name = toUniqueName(attachment.filename, new Set([...before, ...names]));
      names.add(name);
      blobs.put(name, Buffer.isBuffer(content) ? content : Buffer.from(content), mediaType);
    }
  };
  const loadAgain = (signal: AbortSignal) => whenFree(share, load, signal);
  blobs.readAgainFrom({ names: () => names, load: loadAgain, release: share.free, isStored });
  return load;
}

const isUploaded = ({ fileId }: Attachment) => fileId !== undefined;

interface FetchParts {
  attachments: Attachment[];
  config: AttachmentsConfig;
  vault: FileVault;
  share: ByteShare;
  sessions: Pick<PluginContext['sessions'], 'find' | 'metadataOf'>;
}

async function fetchFiles(send: Sent, { attachments, config, vault, sessions, share }: FetchParts) {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(timeoutMs)]);
  const fromMatrix = attachments.every(isUploaded)
    ? undefined
    : {
        homeserver: toHomeserver(send.secrets.matrixHomeserver),
        token: send.secrets.matrixAccessToken,
        allowedHosts: config.MATRIX_ALLOWED_HOSTS,
        dnsServers: config.DNS_SERVERS,
        signal,
        ...(await findRooms(send, sessions)),
      };
  const allowance = createAllowance(share);
  try {
    return await Promise.all(
      attachments.map(async (attachment) => {
        const onBytes = allowance(attachment);
        const bytes =
          !fromMatrix || isUploaded(attachment)
            ? await readUploaded(attachment, { send, vault, onBytes })
            : await download(attachment, { ...fromMatrix, onBytes });
        return { attachment, bytes };
      }),
    );
  } finally {
    stop.abort();
  }
}

/** The message names the room of its events, or the session did when it was created. */
async function findRooms({ metadata, userDid, sessionId }: Sent, sessions: FetchParts['sessions']) {
  const named = (given: Record<string, unknown> = {}) =>
    [given.roomId, given.editorRoomId].find((id) => typeof id === 'string');
  const roomId = named(metadata) ?? named(await sessions.metadataOf(userDid, sessionId));
  return { roomId, ownRoomId: (await sessions.find(userDid, sessionId))?.roomId };
}

function requireDistinct(attachments: Attachment[]): void {
  const ids = attachments.map(({ fileId }) => fileId);
  const repeated = attachments.find(({ fileId }, at) => fileId !== undefined && ids.indexOf(fileId) < at);
  if (repeated) throw failed(`${repeated.filename} is attached twice.`, repeated.filename);
}

async function readUploaded(
  { fileId = '', filename }: Attachment,
  { send, vault, onBytes }: { send: Sent; vault: FileVault; onBytes(count: number): void },
): Promise<Buffer> {
  const { userDid, sessionId } = send;
  const read = async () => ({ bytes: await vault.read({ userDid, fileId, sessionId, onSize: onBytes }) });
  const found = await readings.run(send, read).catch((error) => {
    if (error instanceof AppError) throw error;
    throw failed(`${filename} could not be read.`, filename, error);
  });
  if (!found)
    throw failed(`${filename} was not read: too many files are waiting. Send it again in a moment.`, filename);
  if (!found.bytes) throw failed(`${filename} is not there any more; upload it again.`, filename);
  return found.bytes;
}

function toHomeserver(homeserver: string | undefined): URL {
  if (homeserver === undefined)
    throw failed('Attachments need a Matrix homeserver: send homeServer or x-matrix-homeserver.');
  const text = /^https?:\/\//i.test(homeserver) ? homeserver : `https://${homeserver}`;
  if (!URL.canParse(text)) throw failed('The Matrix homeserver is not a URL.');
  return new URL(text);
}

function createAllowance(share: ByteShare): (attachment: Attachment) => (count: number) => void {
  let total = 0;
  return ({ filename }) => {
    let own = 0;
    return (count) => {
      own += count;
      total += count;
      if (own > agentLimits.attachmentBytes) throw failed(`${filename} is larger than 25 MB.`, filename);
      if (total > agentLimits.attachmentsBytes) throw failed('The attachments together are larger than 50 MB.');
      share.take(count);
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

function toUniqueName(filename: string, taken: ReadonlySet<string>): string {
  let name = filename;
  for (let number = 2; taken.has(name); number += 1) name = `${filename} (${number})`;
  return name;
}

class NoRoom extends AppError {}

const maxBytes = 128_000_000;
const maxBytesPerUser = 64_000_000;
const retryMs = 500;

/** Bytes of files in memory, from when they arrive until their run waits or ends. */
const fileBytes = createByteCounter(
  ({ own, others }) => own <= maxBytesPerUser && own + others <= maxBytes,
  () => new NoRoom('UNAVAILABLE', 'Too many files are being read. Send the message again in a moment.'),
);

async function whenFree(share: ByteShare, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      share.free();
      if (!(error instanceof NoRoom)) throw error;
    }
    await sleep(retryMs, undefined, { signal });
  }
}
