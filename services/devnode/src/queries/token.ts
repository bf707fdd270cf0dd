import { type ModuleError, refuseArgument, refuseByModule } from '../refusal.ts';
import { emptyTable } from '../world/table.ts';
import { answerPage, type Paged, paginate } from './paginate.ts';
import { answer, type ById, type Query } from './query.ts';

const errorOf = (code: number, text: string): ModuleError => ({ codespace: 'token', code, text });
const errors = {
  token: errorOf(1001, 'token not found'),
  properties: errorOf(1002, 'token properties not found'),
};

export const tokenQueries = {
  Params: ({ world }) => answer({ params: world.params.token }),

  // Put together from two records, as a chain does it: those of the token id and those of the token of that name.
  TokenMetadata({ world }, { id }: ById) {
    if (id === '') return refuseArgument('invalid request');
    const properties = world.tokenProperties.get(id);
    const token = properties && world.tokensByName.get(properties.name);
    if (!token) {
      const detail = `${errors.properties.text} for ${id}: no TokenProperties for token ${id}`;
      return refuseByModule(errors.properties, detail);
    }
    return answer({
      name: token.name,
      description: token.description,
      decimals: '0',
      image: token.image,
      index: properties.index,
      properties: {
        class: token.class,
        collection: properties.collection,
        cap: token.cap,
        linkedResources: properties.tokenData,
      },
    });
  },

  TokenList({ world }, { minter, pagination }: Paged & { minter: string }) {
    if (minter === '') return refuseArgument('invalid request');
    const tokens = world.tokensByMinter.get(minter) ?? emptyTable();
    return answerPage('tokenDocs', paginate(tokens.rows, pagination));
  },

  TokenDoc({ world }, { minter, contractAddress }: { minter: string; contractAddress: string }) {
    if (minter === '' || contractAddress === '') return refuseArgument('invalid request');
    const tokenDoc = world.tokensByMinter.get(minter)?.get(contractAddress);
    if (tokenDoc) return answer({ tokenDoc });
    const detail = `${errors.token.text} minter ${minter} and contract address ${contractAddress}`;
    return refuseByModule(errors.token, detail);
  },
} satisfies Record<string, Query>;
