import type { ValueType } from './value-types.ts';

/** What the engine must know about an action; the caller runs it. */
export interface ActionSignature {
  outcomes: readonly string[];
  /** Ends a form: afterwards Back leads to the menu above it, never into its action again. */
  finishes: boolean;
  /** Texts it says by key, so that the checker asks for their translations. */
  texts?: readonly string[];
  /** Texts that it can do without, because locales may be older than they are. */
  optionalTexts?: readonly string[];
  /** The answers that it reads; those in brackets may be missing. */
  answers?: readonly string[];
  /** The values it may give. Without it placeholders and expressions of the menu cannot all be checked. */
  values?: Readonly<Record<string, ValueType>>;
}
