import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { StoreError } from '../store-error.ts';

/** Which columns of a table are encrypted when the service has a key. */
export interface SealedTable {
  table: string;
  /** The columns that name a row. They are bound to its cells, so that none can be moved to another row. */
  key: readonly string[];
  /** Encrypted differently each time: only for what no query compares. */
  sealed: readonly string[];
  /** Encrypted to the same text each time, so that equality can be asked for. */
  tokens?: readonly string[];
}

// Every encrypted value begins with it; texts from before there was a key do not.
const mark = '\u0001';
const tokenMark = `${mark}t`;
const nonceBytes = 12;
const tagBytes = 16;

export const unreadableText = '[unreadable]';

interface UnreadableCell {
  table: string;
  column: string;
  error: unknown;
}

/** Encrypts stored data if the service has a key. */
export type DataCipher = ReturnType<typeof createDataCipher>;

// Without keys it changes nothing and refuses to read what is encrypted. The index key is in the database, encrypted.
export function createDataCipher(keys: readonly Uint8Array[] = []) {
  const [current, ...old] = keys.map((key) => Buffer.from(key));
  const ring = current && createKeyRing(current, old);
  let onUnreadable: ((cell: UnreadableCell) => void) | undefined;
  let index: Record<'tokenKey' | 'nonceKey' | 'hashKey', KeyObject> | undefined;

  function indexKeys() {
    if (!index) throw new StoreError('encrypted', 'the key of the database was not loaded');
    return index;
  }

  function seal<T extends string | null>(text: T, cell: string): T {
    if (text === null) return text;
    // Without a key nobody can store what looks encrypted and makes later reads fail.
    if (!ring) return (isEncrypted(text) ? text.replace(mark, '\ufffd') : text) as T;
    return (mark + ring.seal(Buffer.from(text), cell)) as T;
  }

  function open<T extends string | null>(text: T, cell: string): T {
    if (!isEncrypted(text)) return text;
    if (!ring) throw keyMissing();
    return ring.open(text.slice(mark.length), cell).toString() as T;
  }

  /** A synthetic nonce: the same text has the same token, and only texts that are equal share a nonce. */
  function token(text: string): string {
    if (!ring) return text;
    const { tokenKey, nonceKey } = indexKeys();
    const nonce = createHmac('sha256', nonceKey).update(text).digest().subarray(0, nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', tokenKey, nonce);
    const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return tokenMark + Buffer.concat(parts).toString('base64url');
  }

  function openToken(text: string): string {
    if (!isEncrypted(text)) return text;
    if (!ring) throw keyMissing();
    const bytes = Buffer.from(text.slice(tokenMark.length), 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', indexKeys().tokenKey, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    }).setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString();
  }

  return {
    isOn: ring !== undefined,
    ring,
    seal,
    open,
    token,
    openToken,

    /** A keyed hash in hex; the text itself while encryption is off. */
    hash(text: string, purpose: string): string {
      if (!ring) return text;
      return createHmac('sha256', indexKeys().hashKey).update(`${purpose}\n${text}`).digest('hex');
    },

    /** The row itself if nothing is encrypted. Columns that it lacks are left out. */
    sealRow<Row extends object>(table: SealedTable, row: Row): Row {
      if (!ring && encryptedOf(table.sealed, row).length === 0) return row;
      const stored = { ...row } as Cells;
      for (const column of table.sealed) {
        const text = stored[column];
        // Without a key nothing is bound to a cell, and building its name costs more than the rest.
        if (typeof text === 'string') stored[column] = seal(text, ring ? cellOf(table, column, row) : '');
      }
      for (const column of table.tokens ?? []) {
        const text = stored[column];
        if (typeof text === 'string') stored[column] = token(text);
      }
      return stored as Row;
    },

    // Undoes `sealRow`; needs the key's columns. A cell that cannot be decrypted throws unless `instead` has its value.
    openRow<Row extends object>(table: SealedTable, row: Row, instead: Cells = {}): Row {
      const tokens = encryptedOf(table.tokens, row);
      const sealed = encryptedOf(table.sealed, row);
      // A row of SQLite is slow to copy.
      if (tokens.length + sealed.length === 0) return row;
      const opened = { ...row } as Cells;
      const set = (column: string, read: () => string) => {
        try {
          opened[column] = read();
        } catch (error) {
          if (!(column in instead)) throw error;
          opened[column] = instead[column] ?? null;
          onUnreadable?.({ table: table.table, column, error });
        }
      };
      for (const column of tokens) set(column, () => openToken(opened[column] as string));
      for (const column of sealed) set(column, () => open(opened[column] as string, cellOf(table, column, opened)));
      return opened as Row;
    },

    watchUnreadable(listener: (cell: UnreadableCell) => void): void {
      onUnreadable = listener;
    },

    /** Whether `sealRow` would write this value today. */
    isCurrent(value: string | null): boolean {
      if (value === null || value.startsWith(tokenMark)) return true;
      return isEncrypted(value) && keyIdOf(value) === ring?.currentId;
    },

    /** Rotation does not change the key of tokens and hashes. */
    load(indexKey: Buffer): void {
      const derive = (purpose: string) =>
        createSecretKey(Buffer.from(hkdfSync('sha256', indexKey, '', `palaver ${purpose}`, 32)));
      index = { tokenKey: derive('token'), nonceKey: derive('token nonce'), hashKey: derive('hash') };
    },
  };
}

type Cells = Record<string, string | null>;

function encryptedOf(columns: readonly string[] = [], row: object): string[] {
  return columns.filter((column) => isEncrypted((row as Cells)[column]));
}

function cellOf({ table, key }: SealedTable, column: string, row: object): string {
  return [`${table}.${column}`, ...key.map((name) => String((row as Cells)[name]))].join('\n');
}

function isEncrypted(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(mark);
}

export function keyMissing(): StoreError {
  return new StoreError('encrypted', 'the database is encrypted and DATA_ENCRYPTION_KEY is not set');
}

export type KeyRing = ReturnType<typeof createKeyRing>;

const version = 'v1';

/** Encrypts with the current key (AES-256-GCM) and decrypts what any of its keys encrypted. */
export function createKeyRing(current: Buffer, old: Buffer[] = []) {
  const keys = new Map([...old, current].map((bytes) => toKey(bytes)).map((key) => [key.id, key]));
  const { id: currentId, secret } = toKey(current);
  return {
    currentId,
    has: (sealed: string) => keys.has(keyIdOf(sealed)),
    /** The result opens only for the same `about`. */
    seal(plain: Buffer, about: string) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(about));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return [version, currentId, nonce.toString('base64url'), sealed.toString('base64url')].join('.');
    },
    open(sealed: string, about: string): Buffer {
      const [format, id = '', nonce = '', data = ''] = sealed.split('.');
      const key = keys.get(id);
      if (format !== version || !key) {
        throw new Error(
          `a record is encrypted with the key ${id}: add it to PIN_ENCRYPTION_KEYS_OLD, or to DATA_ENCRYPTION_KEY after the current one`,
        );
      }
      const bytes = Buffer.from(data, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key.secret, Buffer.from(nonce, 'base64url'), {
        authTagLength: 16,
      });
      decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]);
    },
  };
}

export function keyIdOf(sealed: string): string {
  return sealed.split('.')[1] ?? '';
}

/** To be called once for each key: importing one takes three times as long as encrypting a message with it. */
function toKey(bytes: Buffer) {
  const id = createHash('sha256').update('palaver key id').update(bytes).digest('hex').slice(0, 12);
  return { id, secret: createSecretKey(bytes) };
}
