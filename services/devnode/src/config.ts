import { defaultPorts } from '@palaver/contract';
import { baseVariables, envBoolean, envInteger, type VariableMeta } from '@palaver/service-kit';
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
  DEVNODE_BLOCK_MS: envInteger({ min: 1, max: 3_600_000 })
    .prefault('5000')
    .meta({ description: 'Time between two blocks of the development node, in milliseconds.' }),
});

export type DevnodeConfig = Readonly<z.infer<typeof devnodeConfigSchema>>;
