import { baseVariables } from '@palaver/service-kit';
import { z } from 'zod';

export const ussdConfigSchema = z.object({
  ...baseVariables({ port: 3000 }),
});

export type UssdConfig = Readonly<z.infer<typeof ussdConfigSchema>>;
