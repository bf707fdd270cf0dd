import { BroadcastMode, BroadcastTxRequest, BroadcastTxResponse } from 'cosmjs-types/cosmos/tx/v1beta1/service';

const path = '/cosmos.tx.v1beta1.Service/BroadcastTx';
/** A node: `host:port`, or `tls://host:port`. */
export const nodeAddressPattern = /^(tls:\/\/)?([^\s/,:]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/;

export interface BroadcastReply {
  height: string;
  txhash: string;
  code: number;
  codespace: string;
  raw_log: string;
}

/** Sends signed bytes to the gRPC interface of a node; rejects with gRPC's error. */
export async function broadcastToNode(
  address: string,
  { bytes, timeoutMs }: { bytes: string; timeoutMs: number },
): Promise<BroadcastReply> {
  // Most processes send no transactions and need not load it.
  const { Client, credentials } = await import('@grpc/grpc-js');
  const isTls = address.startsWith('tls://');
  const target = isTls ? address.slice('tls://'.length) : address;
  const client = new Client(target, isTls ? credentials.createSsl() : credentials.createInsecure());
  const request = { txBytes: Buffer.from(bytes, 'base64'), mode: BroadcastMode.BROADCAST_MODE_SYNC };
  try {
    const { txResponse } = await new Promise<BroadcastTxResponse>((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        (message: BroadcastTxRequest) => Buffer.from(BroadcastTxRequest.encode(message).finish()),
        (reply) => BroadcastTxResponse.decode(reply),
        request,
        { deadline: Date.now() + timeoutMs },
        (error, reply) => (reply ? resolve(reply) : reject(error)),
      );
    });
    if (!txResponse) throw new Error('the node answered without a response to the transaction');
    const { height, txhash, code, codespace, rawLog } = txResponse;
    return { height: String(height), txhash, code, codespace, raw_log: rawLog };
  } finally {
    client.close();
  }
}
