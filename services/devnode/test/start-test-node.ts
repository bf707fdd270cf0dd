import { createDevnode, type Devnode, type DevnodeOptions } from '../src/app.ts';

export interface TestNode extends Devnode {
  port: number;
  /** `host:port`, as gRPC clients take it. */
  address: string;
}

/** A node that listens on a free port of this machine unless one is given. */
export async function startTestNode({ port = 0, ...options }: DevnodeOptions & { port?: number }): Promise<TestNode> {
  const node = await createDevnode(options);
  const bound = await node.listen({ host: '127.0.0.1', port });
  return { ...node, port: bound, address: `127.0.0.1:${bound}` };
}
