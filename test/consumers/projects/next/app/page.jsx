// A server component that imports the library.
import { renderMessageContent } from '@palaver/oracles-client-sdk';
import { Chat } from '@palaver/oracles-client-sdk/ui';
import { SignedIn } from './signed-in.jsx';

export const dynamic = 'force-dynamic';

export default function Page() {
  const { AGENT_DID: oracleDid, AGENT_URL: baseUrl } = process.env;
  return (
    <main>
      <h1>Chat</h1>
      <div id="intro">{renderMessageContent('Ask about the **farm**.')}</div>
      <SignedIn>
        <Chat oracleDid={oracleDid} overrides={{ baseUrl }} />
      </SignedIn>
    </main>
  );
}
