import { envInteger } from '@palaver/service-kit';

/** Of the plugins whose transactions are settled on the chain. */
export const settledVariables = {
  RETENTION_CLAIMS_DAYS: envInteger({ min: 0, max: 36_500 }).prefault('0').meta({
    description:
      'Days that usage claims, orders on the chain and their transactions are kept after they were settled; 0 keeps them until erased.',
    example: '730',
  }),
};
