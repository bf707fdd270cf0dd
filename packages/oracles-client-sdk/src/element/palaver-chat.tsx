'use client';

import { type DetailedHTMLProps, type HTMLAttributes, type ReactNode, useEffect } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { BrowserTools } from '../core/client-tools.ts';
import { findAgentDid } from '../core/oracle-config.ts';
import { OracleError } from '../core/oracle-error.ts';
import { OraclesProvider } from '../react/oracles-provider.tsx';
import { useLoad } from '../react/use-load.ts';
import { Button } from '../ui/button.tsx';
import { Chat } from '../ui/chat.tsx';
import { defaultLabels, isRightToLeft, type Labels, loadLabels } from '../ui/labels.ts';
import css from '../ui/ui.css?inline';
import type { SignerWallet } from '../wallet/signer-wallet.ts';

/** The interface's own rules, and those of the element around it: it may be narrow on a wide page. */
const styles = `${css}
:host { display: block; block-size: 30rem; container-type: inline-size; }
:host([hidden]) { display: none; }
:host([theme='light']) { color-scheme: light; }
:host([theme='dark']) { color-scheme: dark; }
:host([theme='auto']) { color-scheme: light dark; }
div:has(> .palaver-chat) { block-size: 100%; }
@container (max-width: 40rem) {
  .palaver-chat { grid-template-columns: 1fr; grid-template-rows: auto 1fr; }
  .palaver-sessions { max-block-size: 10rem; }
}
`;

/** The element `<palaver-chat>`. Its attributes are `agent`, `url`, `gateway`, `theme`, `lang` and `dir`. */
export interface PalaverChatElement extends HTMLElement {
  /** Who signs in; null while nobody does. A key of this browser unless it is set. */
  wallet: SignerWallet | null;
  labels: Partial<Labels>;
  browserTools: BrowserTools;
}

/** What `<palaver-chat>` takes in JSX. */
export interface PalaverChatProps extends DetailedHTMLProps<HTMLAttributes<PalaverChatElement>, PalaverChatElement> {
  agent?: string | undefined;
  url?: string | undefined;
  gateway?: string | undefined;
  theme?: 'light' | 'dark' | 'auto' | undefined;
  wallet?: SignerWallet | null | undefined;
  labels?: Partial<Labels> | undefined;
  browserTools?: BrowserTools | undefined;
}

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'palaver-chat': PalaverChatProps;
    }
  }
}

const attributes = ['agent', 'url', 'gateway', 'lang', 'dir'];
const properties = ['wallet', 'labels', 'browserTools'] as const;

/**
 * Makes `<palaver-chat>` known to the page: a whole chat, for pages without React. It sends `palaver-event`, `palaver-error` and
 * `palaver-payment` (with the ids of the claims) as events whose `detail` has the value.
 *
 * @example
 * ```ts
 * import { definePalaverChat } from '@palaver/oracles-client-sdk/element';
 *
 * definePalaverChat();
 * document.body.innerHTML = '<palaver-chat agent="did:web:agent.example" lang="fr" theme="dark"></palaver-chat>';
 * ```
 */
export function definePalaverChat(name = 'palaver-chat'): void {
  if (typeof customElements === 'undefined' || customElements.get(name)) return;
  customElements.define(name, createElementClass());
}

function createElementClass(): new () => PalaverChatElement {
  return class extends HTMLElement implements PalaverChatElement {
    static readonly observedAttributes = attributes;
    #root: Root | undefined;
    #wallet: SignerWallet | null | undefined;
    #labels: Partial<Labels> = {};
    #translated: Partial<Labels> = {};
    #tools: BrowserTools = {};
    #creating: Promise<void> | undefined;

    get wallet() {
      return this.#wallet ?? null;
    }
    set wallet(wallet) {
      this.#wallet = wallet;
      this.#draw();
    }
    get labels() {
      return this.#labels;
    }
    set labels(labels) {
      this.#labels = labels;
      this.#draw();
    }
    get browserTools() {
      return this.#tools;
    }
    set browserTools(tools) {
      this.#tools = tools;
      this.#draw();
    }

    connectedCallback(): void {
      this.#takeEarlyProperties();
      const shadow = this.shadowRoot ?? this.attachShadow({ mode: 'open' });
      const style = document.createElement('style');
      style.textContent = styles;
      const place = document.createElement('div');
      shadow.replaceChildren(style, place);
      this.#root = createRoot(place);
      void this.#load();
    }
    disconnectedCallback(): void {
      this.#root?.unmount();
      this.#root = undefined;
    }
    attributeChangedCallback(attribute: string): void {
      if (attribute === 'lang') void this.#load();
      else this.#draw();
    }

    /** What the page has set before the element was defined hides the accessors of the class. */
    #takeEarlyProperties(): void {
      for (const name of properties) {
        if (!Object.hasOwn(this, name)) continue;
        const value = this[name];
        Reflect.deleteProperty(this, name);
        Object.assign(this, { [name]: value });
      }
    }

    async #load(): Promise<void> {
      const { lang } = this;
      const labels = await loadLabels(lang || document.documentElement.lang).catch(() => ({}));
      if (lang === this.lang) this.#translated = labels;
      if (this.#wallet === undefined && this.isConnected) {
        this.#creating ??= this.#createWallet();
        await this.#creating;
      }
      this.#draw();
    }

    async #createWallet(): Promise<void> {
      const created = await import('../wallet/key-wallet.ts')
        .then(({ createKeyWallet }) => createKeyWallet())
        .catch((error) => this.#send('palaver-error', error));
      // The page may have set a wallet, or null, meanwhile.
      if (this.#wallet === undefined) this.#wallet = created || null;
    }

    #send(name: string, detail: unknown): void {
      this.dispatchEvent(new CustomEvent(name, { detail }));
    }

    #draw(): void {
      const root = this.#root;
      const wallet = this.#wallet;
      if (!root || wallet === undefined) return;
      const labels = { ...defaultLabels, ...this.#translated, ...this.#labels };
      const url = this.getAttribute('url');
      const agent = this.getAttribute('agent');
      if (agent) root.render(this.#toChat(wallet, agent, labels));
      else if (url)
        root.render(
          <FindAgent url={url} labels={labels} onError={(error) => this.#send('palaver-error', error)}>
            {(did) => this.#toChat(wallet, did, labels)}
          </FindAgent>,
        );
      else root.render(<p role="alert">Set the attribute agent or url of this element.</p>);
    }

    #toChat(wallet: SignerWallet | null, agent: string, labels: Labels): ReactNode {
      const url = this.getAttribute('url');
      const dir = this.dir || (isRightToLeft(this.lang) ? 'rtl' : undefined);
      return (
        <OraclesProvider
          key={wallet?.did}
          initialWallet={wallet ?? undefined}
          createDelegation={wallet?.createDelegation ?? refuse}
          createInvocation={wallet?.createInvocation}
          gatewayUrl={this.getAttribute('gateway') ?? undefined}
        >
          <Chat
            oracleDid={agent}
            overrides={url ? { baseUrl: url } : undefined}
            labels={labels}
            dir={dir as 'ltr' | 'rtl' | 'auto' | undefined}
            browserTools={this.#tools}
            onEvent={(event) => this.#send('palaver-event', event)}
            onError={(error) => this.#send('palaver-error', error)}
            onPaymentRequiredError={(claimIds) => this.#send('palaver-payment', claimIds)}
          />
        </OraclesProvider>
      );
    }
  };
}

interface FindAgentProps {
  url: string;
  labels: Labels;
  onError(error: OracleError): void;
  children(did: string): ReactNode;
}

/** The agent at an address, where the page names none; asked again while it cannot be reached. */
function FindAgent({ url, labels, onError, children }: FindAgentProps) {
  const { data, error, reload } = useLoad(url, () => findAgentDid(url, { retryForMs: 0 }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each error is reported once.
  useEffect(() => error && onError(error), [error]);
  if (data) return children(data);
  return (
    <p className="palaver-composer" role={error ? 'alert' : 'status'}>
      {error?.message ?? labels.connecting} {error && <Button label={labels.retry} onClick={() => void reload()} />}
    </p>
  );
}

async function refuse(): Promise<never> {
  throw new OracleError('Nobody has signed in.', { code: 'NOT_SIGNED' });
}
