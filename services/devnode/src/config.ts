import { defaultPorts } from '@palaver/contract';
import { baseVariables, envBoolean, envInteger, envUrl, type VariableMeta } from '@palaver/service-kit';
import { isTrue } from '@palaver/service-kit/internal';
import { z } from 'zod';

const { HOST, PORT, LOG_LEVEL, DATA_DIR } = baseVariables({ port: defaultPorts.devnode });

export const devnodeConfigSchema = z.object({
  HOST,
  PORT,
  LOG_LEVEL,
  DATA_DIR,
  GATEWAY_ALLOW_DEVNODE: envBoolean()
    .prefault('false')
    .meta({
      description: 'Allow the development node, whose data is made up, in production.',
      example: 'true',
      inProduction: (text, { env, isExposed }) =>
        // `palaver up` starts it only where no real node is set.
        isExposed && !isTrue(text) && !env.GATEWAY_UPSTREAMS
          ? 'set GATEWAY_UPSTREAMS to a real node, or allow the development node in production'
          : undefined,
    } satisfies VariableMeta),
  DEVNODE_SEED: z.string().optional().meta({
    description: 'Folder with seed files; each replaces the bundled file of its name.',
    example: './my-seed',
  }),
  DEVNODE_BLOCK_MS: envInteger({ min: 1, max: 3_600_000 }).prefault('5000').meta({
    description: 'Time between two blocks of the development node, in milliseconds.',
    example: '1000',
  }),
  DEVNODE_AGENT_DID: z.string().startsWith('did:', 'expected a DID').optional().meta({
    description: "DID of the agent's key (a did:key), shown in its entity when the node runs alone.",
    example: 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK',
  }),
  DEVNODE_AGENT_ENTITY_DID: z.string().startsWith('did:', 'expected a DID').optional().meta({
    description: "DID of the agent's entity, when it is not that of its key.",
    example: 'did:ixo:entity:0f3d4e5a6b7c8d9e0f1a2b3c4d5e6f70',
  }),
  DEVNODE_AGENT_URL: envUrl('http:', 'https:').optional().meta({
    description: 'Where the agent is reached, shown in its entity as its API and socket address.',
    example: 'http://127.0.0.1:4000',
  }),
});

export type DevnodeConfig = Readonly<z.infer<typeof devnodeConfigSchema>>;
