/** The part of `smpp` that is used here; the package has no types of its own. */
declare module 'smpp' {
  import type { EventEmitter } from 'node:events';
  import type { Server, Socket } from 'node:net';

  export interface Message {
    message: string | Buffer;
    udh?: Buffer[];
  }

  export interface Pdu {
    command: string;
    command_status: number;
    sequence_number: number;
    source_addr?: string;
    source_addr_ton?: number;
    destination_addr?: string;
    dest_addr_ton?: number;
    service_type?: string;
    esm_class?: number;
    data_coding?: number;
    short_message?: Message;
    message_payload?: Message;
    message_id?: string;
    receipted_message_id?: string;
    message_state?: number;
    ussd_service_op?: number;
    sar_msg_ref_num?: number;
    sar_total_segments?: number;
    sar_segment_seqnum?: number;
    its_session_info?: Buffer;
    [field: string]: unknown;
    isResponse(): boolean;
    response(fields?: object): Pdu;
    toBuffer(): Buffer;
  }

  export class PDU {
    constructor(command: string | Buffer, fields?: object);
  }
  export interface PDU extends Pdu {}

  export class Session extends EventEmitter {
    constructor(options: { socket: Socket });
    socket: Socket;
    send(pdu: Pdu, onResponse?: (response: Pdu) => void): boolean;
    deliver_sm(fields: object, onResponse: (response: Pdu) => void): boolean;
    on(event: 'pdu', listener: (pdu: Pdu) => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
    on(event: 'close', listener: () => void): this;
  }

  export function createServer(onSession: (session: Session) => void): Server;
  export function addTLV(name: string, options: { id: number; type: object }): void;

  /** What is no named export to an ES module. */
  const smpp: {
    errors: Record<string, number>;
    encodings: Record<'ASCII' | 'UCS2', { encode(text: string): Buffer; decode(bytes: Buffer): string }>;
    types: { tlv: { buffer: object } };
  };
  // biome-ignore lint/style/noDefaultExport: the package is CommonJS.
  export default smpp;
}
