import { join } from 'node:path';
import { createForms, startFetching } from '@palaver/forms/internal';
import { StartError } from '@palaver/service-kit';
import type { RunningActions } from '../actions/start-actions.ts';
import type { Outgoing } from '../outgoing/start-outgoing.ts';
import type { People } from '../people/start-people.ts';
import type { Deployment } from '../store/deployment.ts';
import { bundledProgram, createFindUnmetNeeds, toRegistry } from './bundled-program.ts';
import { openPrograms } from './programs.ts';
import { createPublishedPrograms } from './published.ts';
import { createPublishing } from './publishing.ts';

interface CatalogParts extends Deployment, People, Outgoing, RunningActions {}

export type Catalog = Awaited<ReturnType<typeof startCatalog>>;

export async function startCatalog({ config, store, logger, metrics, clock, audit, ...parts }: CatalogParts) {
  const { started, formsServer } = parts;
  const forms = createForms({ onLoad: metrics.countFormLoad });
  started.defer(() => forms.close());
  const fetched =
    formsServer &&
    (await startFetching({
      client: formsServer,
      folder: join(config.DATA_DIR, 'forms-server'),
      refreshMs: config.FORMS_REFRESH_MINUTES * 60_000,
      logger,
      onChange: () => programs.reload(),
    }));
  started.defer(() => fetched?.stop());
  const published = createPublishedPrograms(store, clock);
  const programs = await openPrograms({
    forms,
    ...(fetched && { fetched: fetched.files }),
    folder: config.USSD_PROGRAMS ?? bundledProgram,
    registry: toRegistry(parts.actions, parts.ownValidators),
    ownActions: config.USSD_ACTIONS,
    findUnmetNeeds: createFindUnmetNeeds(config, parts.secrets),
    published,
    onUse: (menus) => forms.warm([...menus].flatMap((menu) => [...menu.forms.values()])),
    watch: config.USSD_WATCH_MENUS,
    logger,
  });
  started.defer(() => programs.close());
  if (!programs.current().some(({ locales }) => locales.has(config.USSD_LANGUAGE)))
    throw new StartError(`USSD_LANGUAGE=${config.USSD_LANGUAGE}: there is no such file among the locales`);
  const readOnly = config.PROGRAMS_READONLY;
  return { forms, programs, publishing: createPublishing({ store, programs, published, audit, clock, readOnly }) };
}
